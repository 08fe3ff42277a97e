//! How a place delivers, as JSON: read strictly, with the range and the unit of each member, and
//! written whole.

use super::members::Members;
use super::subscriptions::below;
use broker::{DeliverySettings, Order};
use protocol::json::{Value, push_string};
use protocol::{Code, Rejection};
use std::fmt::Write as _;

/// The longest lease or wait, in milliseconds: a day.
const WAIT_MS_MAX: i64 = 86_400_000;
/// Most attempts.
const ATTEMPTS_MAX: i64 = 1_000;
/// Most deliveries that consumers hold at once.
const IN_FLIGHT_MAX: i64 = 1_000_000;
/// The steepest growth of a wait.
const MULTIPLIER_MAX: f64 = 100.0;

const MEMBERS: [&str; 7] = [
    "lease_ms",
    "max_attempts",
    "backoff_ms",
    "backoff_multiplier",
    "backoff_ms_max",
    "max_in_flight",
    "order",
];

/// Reads the object at `/delivery`; members that are absent are as in `defaults`.
pub(crate) fn read(
    object: Value<'_>,
    defaults: DeliverySettings,
) -> Result<DeliverySettings, Rejection> {
    let mut members = Members::of(object, Code::BadRequest).only(&MEMBERS);
    let mut wait = |name, least| members.quantity(name, "milliseconds", least..=WAIT_MS_MAX);
    let (lease_ms, backoff_ms, backoff_ms_max) = (
        wait("lease_ms", 1),
        wait("backoff_ms", 0),
        wait("backoff_ms_max", 0),
    );
    let mut count = |name, most| {
        let count = members.number(name, 1..=most);
        count.and_then(|count| u32::try_from(count).ok())
    };
    let (max_attempts, in_flight_max) = (
        count("max_attempts", ATTEMPTS_MAX),
        count("max_in_flight", IN_FLIGHT_MAX),
    );
    let settings = DeliverySettings {
        lease_ms: lease_ms.unwrap_or(defaults.lease_ms),
        max_attempts: max_attempts.unwrap_or(defaults.max_attempts),
        backoff_ms: backoff_ms.unwrap_or(defaults.backoff_ms),
        backoff_multiplier_milli: multiplier(&mut members)
            .unwrap_or(defaults.backoff_multiplier_milli),
        backoff_ms_max: backoff_ms_max.unwrap_or(defaults.backoff_ms_max),
        in_flight_max: in_flight_max.unwrap_or(defaults.in_flight_max),
        order: order(&mut members).unwrap_or(defaults.order),
    };
    if settings.backoff_ms > settings.backoff_ms_max {
        let detail = format!(
            "expected `backoff_ms_max` to be at least `backoff_ms` ({} milliseconds), got {}",
            settings.backoff_ms, settings.backoff_ms_max
        );
        members.refuse("backoff_ms_max", detail);
    }
    members
        .finish()
        .map_err(|refused| below("/delivery", &refused))?;
    Ok(settings)
}

fn multiplier(members: &mut Members<'_>) -> Option<u32> {
    let value = members.get("backoff_multiplier")?;
    match value.as_f64() {
        Some(times) if (1.0..=MULTIPLIER_MAX).contains(&times) => {
            Some((times * 1_000.0).round() as u32)
        }
        Some(_) | None => {
            let wanted = format!("a number from 1 to {MULTIPLIER_MAX}");
            members.refuse_kind("backoff_multiplier", &wanted, value);
            None
        }
    }
}

fn order(members: &mut Members<'_>) -> Option<Order> {
    let text = members.text("order")?;
    let order = Order::parse(&text);
    if order.is_none() {
        let detail = format!("expected `order` to be conversation or none, got {text:?}");
        members.refuse("order", detail);
    }
    order
}

/// Appends the object.
pub(crate) fn write(out: &mut String, settings: &DeliverySettings) {
    let DeliverySettings {
        lease_ms,
        max_attempts,
        backoff_ms,
        backoff_multiplier_milli,
        backoff_ms_max,
        in_flight_max,
        order,
    } = settings;
    let multiplier = f64::from(*backoff_multiplier_milli) / 1_000.0;
    let _ = write!(
        out,
        "{{\"lease_ms\":{lease_ms},\"max_attempts\":{max_attempts},\"backoff_ms\":{backoff_ms},\
         \"backoff_multiplier\":{multiplier},\"backoff_ms_max\":{backoff_ms_max},\
         \"max_in_flight\":{in_flight_max},\"order\":"
    );
    push_string(out, order.as_str());
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use broker::{DeliverySettings, Order};
    use protocol::Rejection;
    use protocol::json::{Limits, read as read_json};

    fn settings(text: &str) -> Result<DeliverySettings, Rejection> {
        let document = read_json(text.as_bytes(), Limits::default()).unwrap();
        read(document.root(), DeliverySettings::default())
    }

    #[test]
    fn what_is_written_reads_back_and_what_is_absent_is_the_default() {
        let all = settings(
            r#"{"lease_ms":1500,"max_attempts":3,"backoff_ms":10,"backoff_multiplier":1.5,
                "backoff_ms_max":2000,"max_in_flight":7,"order":"none"}"#,
        )
        .unwrap();
        assert_eq!(
            (all.lease_ms, all.max_attempts, all.order),
            (1_500, 3, Order::None)
        );
        assert_eq!(all.backoff_multiplier_milli, 1_500);
        let mut text = String::new();
        write(&mut text, &all);
        assert_eq!(settings(&text).unwrap(), all);
        assert_eq!(settings("{}").unwrap(), DeliverySettings::default());
    }

    #[test]
    fn every_value_out_of_its_range_is_named_with_range_and_unit() {
        let refused = settings(
            r#"{"lease_ms":0,"max_attempts":1001,"backoff_ms":-1,"backoff_multiplier":0.5,
                "backoff_ms_max":86400001,"max_in_flight":0,"order":"fifo","lease":1}"#,
        )
        .unwrap_err();
        let mut seen: Vec<_> = refused.all().map(|fault| &*fault.pointer).collect();
        seen.sort_unstable();
        assert_eq!(
            seen,
            [
                "/delivery/backoff_ms",
                "/delivery/backoff_ms_max",
                "/delivery/backoff_multiplier",
                "/delivery/lease",
                "/delivery/lease_ms",
                "/delivery/max_attempts",
                "/delivery/max_in_flight",
                "/delivery/order",
            ]
        );
        let lease = refused
            .all()
            .find(|fault| fault.pointer == "/delivery/lease_ms");
        assert_eq!(
            lease.unwrap().detail,
            "expected `lease_ms` to be a whole number of milliseconds from 1 to 86400000, got 0"
        );
        let refused = settings(r#"{"backoff_ms":400000}"#).unwrap_err();
        assert_eq!(refused.first().pointer, "/delivery/backoff_ms_max");
    }
}
