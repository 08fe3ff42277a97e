use interwire_testkit::{history, sim};
#[test]
fn probe() {
    let mut bad = 0;
    for seed in 0..1500 { let b = history::check(&sim::history_of(seed, &sim::events(seed)), true); if !b.is_empty() { bad += 1; println!("BAD {seed} {b:?}"); } }
    println!("BAD total {bad}");
}
