//! Every seed of every target, without libFuzzer.

use std::path::Path;

#[test]
fn every_seed_keeps_the_promises() {
    for (name, run) in interwire_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("seeds")
            .join(name);
        let mut count = 0;
        for entry in std::fs::read_dir(&folder).expect("each target has a folder of seeds") {
            let path = entry.expect("the folder can be read").path();
            let data = std::fs::read(&path).expect("a seed can be read");
            println!("{}", path.display());
            run(&data);
            count += 1;
        }
        assert!(count > 0, "no seeds in {}", folder.display());
    }
}

#[test]
fn every_prefix_of_every_seed_keeps_the_promises() {
    for (name, run) in interwire_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("seeds")
            .join(name);
        for entry in std::fs::read_dir(&folder).expect("each target has a folder of seeds") {
            let data = std::fs::read(entry.expect("the folder can be read").path())
                .expect("a seed can be read");
            for length in 0..data.len() {
                run(&data[..length]);
            }
        }
    }
}
