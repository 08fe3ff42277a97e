//! The role decision that an event may ask for (AEP 8.3).
//!
//! An event that names both `actor_id` and `requested_action` is checked against fixed roles. All of
//! it is the sender's own claim, so this proves nothing about who sent the event; authenticated
//! access is decided elsewhere.

use super::envelope::{Field, Slots};
use crate::json::{Kind, Value};
use crate::shape::{Want, check_value};
use crate::{Code, Fault};

const RULE: &str = "AEP 8.3";

/// Why an action is denied. The first that applies, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// No actor is named.
    MissingIdentity,
    /// The actor's or the target's tenant is not named.
    MissingTenant,
    /// No role of the actor grants the action.
    MissingRole,
    /// The tenants differ and no role reaches across.
    TenantAccessDenied,
}

impl Denial {
    /// The word peers know.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingIdentity => "missing_identity",
            Self::MissingTenant => "missing_tenant",
            Self::MissingRole => "missing_role",
            Self::TenantAccessDenied => "tenant_access_denied",
        }
    }
}

/// What a decision is made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claim<'a> {
    /// `actor_id`.
    pub actor: &'a str,
    /// `tenant_id`.
    pub tenant: &'a str,
    /// `roles`.
    pub roles: &'a [&'a str],
    /// `requested_action`.
    pub action: &'a str,
    /// `target_tenant_id`.
    pub target_tenant: &'a str,
}

const CROSS_ACCESS: &str = "tenant.cross_access";
const OPERATOR: &[&str] = &[
    "event.publish",
    "event.subscribe",
    "task.submit",
    "task.manage",
];

/// The actions of a role; none for a role nobody defined.
fn actions(role: &str) -> (&'static [&'static str], Option<&'static str>) {
    match role {
        "viewer" => (&["event.subscribe"], None),
        "publisher" => (&["event.publish", "task.submit"], None),
        "operator" => (OPERATOR, None),
        "tenant-admin" => (OPERATOR, Some("governance.audit.read")),
        "cross-tenant-operator" => (OPERATOR, Some(CROSS_ACCESS)),
        _ => (&[], None),
    }
}

fn grants(roles: &[&str], action: &str) -> bool {
    roles.iter().any(|role| {
        let (shared, own) = actions(role);
        shared.contains(&action) || own == Some(action)
    })
}

/// Decides one claim. Empty text counts as not given.
///
/// # Errors
/// The first reason to deny.
pub fn decide(claim: &Claim<'_>) -> Result<(), Denial> {
    if claim.actor.is_empty() {
        Err(Denial::MissingIdentity)
    } else if claim.tenant.is_empty() || claim.target_tenant.is_empty() {
        Err(Denial::MissingTenant)
    } else if !grants(claim.roles, claim.action) {
        Err(Denial::MissingRole)
    } else if claim.tenant != claim.target_tenant && !grants(claim.roles, CROSS_ACCESS) {
        Err(Denial::TenantAccessDenied)
    } else {
        Ok(())
    }
}

/// Decides the claim of an event that makes one. A claim that cannot be read is refused rather than
/// passed over.
pub(super) fn check(slots: &Slots<'_>, faults: &mut Vec<Fault>) {
    let claimed = |field| {
        slots.get(field).is_some_and(|value| {
            !value.is_null() && (value.kind() != Kind::String || value.raw() != "\"\"")
        })
    };
    if !claimed(Field::ActorId) || !claimed(Field::RequestedAction) {
        return;
    }
    let before = faults.len();
    for field in [
        Field::ActorId,
        Field::TenantId,
        Field::RequestedAction,
        Field::TargetTenantId,
    ] {
        slots.expect(field, &Want::STRING, RULE, faults);
    }
    slots.expect(Field::Roles, &Want::list(&Want::STRING), RULE, faults);
    if faults.len() > before {
        return;
    }
    let text = |field| slots.text(field).unwrap_or_default();
    let (actor, tenant) = (text(Field::ActorId), text(Field::TenantId));
    let (action, target_tenant) = (text(Field::RequestedAction), text(Field::TargetTenantId));
    let given = slots.get(Field::Roles).into_iter().flat_map(Value::items);
    let roles: Vec<_> = given.filter_map(Value::as_str).collect();
    let roles: Vec<&str> = roles.iter().map(|role| &**role).collect();
    let claim = Claim {
        actor: &actor,
        tenant: &tenant,
        roles: &roles,
        action: &action,
        target_tenant: &target_tenant,
    };
    if let Err(denial) = decide(&claim) {
        faults.push(Fault::new(
            Code::GovernanceDenied,
            "/requested_action",
            RULE,
            format!("governance denied: {}", denial.as_str()),
        ));
    }
}

impl<'d> Slots<'d> {
    /// Checks a member that is carried freely unless a decision needs it.
    fn expect(&self, field: Field, want: &Want, rule: &'static str, faults: &mut Vec<Fault>) {
        if let Some(value) = self.get(field).filter(|value| !value.is_null()) {
            check_value(want, value, &mut format!("/{}", field.name()), rule, faults);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Claim, Denial, decide};

    fn claim<'a>(roles: &'a [&'a str], action: &'a str, target_tenant: &'a str) -> Claim<'a> {
        Claim {
            actor: "a",
            tenant: "alpha",
            roles,
            action,
            target_tenant,
        }
    }

    #[test]
    fn reasons_come_in_the_published_order() {
        let empty = Claim::default();
        assert_eq!(decide(&empty), Err(Denial::MissingIdentity));
        assert_eq!(
            decide(&Claim {
                actor: "a",
                ..empty
            }),
            Err(Denial::MissingTenant)
        );
        assert_eq!(
            decide(&claim(&["operator"], "event.publish", "")),
            Err(Denial::MissingTenant)
        );
        assert_eq!(
            decide(&claim(&[], "event.publish", "beta")),
            Err(Denial::MissingRole)
        );
        assert_eq!(
            decide(&claim(&["publisher"], "event.publish", "beta")),
            Err(Denial::TenantAccessDenied)
        );
        assert_eq!(
            decide(&claim(&["publisher"], "event.publish", "alpha")),
            Ok(())
        );
    }

    #[test]
    fn roles_add_up() {
        let both = ["viewer", "cross-tenant-operator"];
        assert_eq!(decide(&claim(&both, "event.subscribe", "beta")), Ok(()));
        assert_eq!(
            decide(&claim(&["tenant-admin"], "governance.audit.read", "alpha")),
            Ok(())
        );
        assert_eq!(
            decide(&claim(&["operator"], "governance.audit.read", "alpha")),
            Err(Denial::MissingRole)
        );
        assert_eq!(
            decide(&claim(&["root"], "event.publish", "alpha")),
            Err(Denial::MissingRole)
        );
        assert_eq!(
            decide(&claim(&both, "command.execute", "alpha")),
            Err(Denial::MissingRole)
        );
    }
}
