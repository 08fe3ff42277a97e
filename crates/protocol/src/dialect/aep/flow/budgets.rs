//! Budgets that are really spent (AEP 2.13).
//!
//! The text speaks of consumption and a remainder; the reference only compares each cost with the
//! limit. Here an accepted cost is subtracted, which no published fixture contradicts.

use super::recent::{Key, Recent, key};
use super::snapshot::{amount_from, put_amount, put_recent, recent_from};
use super::{Amount, Spend};
use crate::wire::{Reader, WireError};
use crate::{Code, Fault};

#[derive(Debug, Default)]
struct Budget {
    limit: Amount,
    spent: Amount,
}

#[derive(Debug)]
pub struct Budgets(Recent<Budget>);

impl Budgets {
    pub fn bounded(max: usize) -> Self {
        Self(Recent::bounded(max))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A second limit replaces the first; what was spent stays spent, or a change would be a refill.
    pub fn set(&mut self, tenant: Option<&str>, budget: &str, limit: Amount) {
        let name = name(tenant, budget);
        match self.0.get_mut(&name) {
            Some(known) => known.limit = limit,
            None => {
                self.0.insert(
                    name,
                    Budget {
                        limit,
                        spent: Amount::default(),
                    },
                );
            }
        }
    }

    /// An unknown budget has nothing left, as in the reference.
    pub fn judge(&self, spend: &Spend) -> Result<(), Fault> {
        let left = self.remaining(&spend.tenant, &spend.budget);
        if left.is_some_and(|left| spend.cost <= left) {
            return Ok(());
        }
        let got = match left {
            Some(left) => format!("expected a cost of at most {left}, got {}", spend.cost),
            None => format!(
                "expected an established budget, got a cost of {}",
                spend.cost
            ),
        };
        Err(Fault::new(
            Code::BudgetExceeded,
            "/budget_cost",
            "AEP 2.13",
            format!("{got} on budget {:?}", spend.budget),
        ))
    }

    pub fn spend(&mut self, spend: &Spend) {
        if let Some(name) = self.find(&spend.tenant, &spend.budget)
            && let Some(budget) = self.0.get_mut(&name)
        {
            budget.spent = budget.spent.plus(spend.cost);
        }
    }

    pub fn remaining(&self, tenant: &str, budget: &str) -> Option<Amount> {
        let name = self.find(tenant, budget)?;
        self.0
            .get(&name)
            .map(|budget| budget.limit.minus(budget.spent))
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_recent(out, &self.0, |out, budget| {
            put_amount(out, budget.limit);
            put_amount(out, budget.spent);
        });
    }

    pub fn decode(&mut self, reader: &mut Reader<'_>) -> Result<(), WireError> {
        recent_from(reader, &mut self.0, |reader| {
            Ok(Budget {
                limit: amount_from(reader)?,
                spent: amount_from(reader)?,
            })
        })
    }

    /// The tenant's own budget, else one established without a tenant.
    fn find(&self, tenant: &str, budget: &str) -> Option<Key> {
        [name(Some(tenant), budget), name(None, budget)]
            .into_iter()
            .find(|name| self.0.get(name).is_some())
    }
}

/// The length keeps `a` + `bc` apart from `ab` + `c`.
fn name(tenant: Option<&str>, budget: &str) -> Key {
    match tenant {
        Some(tenant) => key(&format!("{} {tenant} {budget}", tenant.len())),
        None => key(&format!("- {budget}")),
    }
}
