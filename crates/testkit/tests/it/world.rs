//! A journal that lives, dies and is opened again, beside a naive model of what it promised.

use interwire_testkit::{Cause, CrashDisk, Operation, Random};
use journal::{Disk, Durability, Error, Filler, Journal, Options, Reader};
use std::sync::Arc;

pub type Kept = (u8, Vec<u8>);
pub type Check<T = ()> = Result<T, String>;

pub const LINEAGE: u64 = 0x0123_4567_89ab_cdef;

/// Ends the run with a sentence, so that a mutated journal can be seen to fail.
#[macro_export]
macro_rules! ensure {
    ($fact:expr, $($why:tt)+) => {
        if !$fact {
            return Err(format!($($why)+));
        }
    };
}

pub fn options(segment_bytes: u64, durability: Durability) -> Options {
    Options {
        segment_bytes,
        durability,
        ..Options::new(LINEAGE)
    }
}

/// The seeds to run: `INTERWIRE_SEEDS` as a count or as a range like `17..18`; otherwise so many
/// that it takes seconds.
pub fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("INTERWIRE_SEEDS").unwrap_or_default();
    let (from, to) = asked.split_once("..").unwrap_or(("0", &asked));
    from.parse().unwrap_or(0)..to.parse().unwrap_or(300)
}

/// Everything a reader sees, in steps of random size.
pub fn read_all(reader: &Reader, random: &mut Random) -> Result<Vec<Kept>, Error> {
    let (first, _) = reader.range();
    let mut kept: Vec<Kept> = Vec::new();
    loop {
        let records_max = 1 + random.index(9);
        let bytes_max = random.index(3_000);
        let next = first + kept.len() as u64;
        let records = reader.read(next, records_max, bytes_max)?;
        assert!(records.len() <= records_max, "more records than asked for");
        if records.is_empty() {
            return Ok(kept);
        }
        for record in records {
            if record.sequence != first + kept.len() as u64 {
                return Err(std::io::Error::other("sequences have a gap").into());
            }
            kept.push((record.kind, record.body.to_vec()));
        }
    }
}

/// Appends a record of random kind, size and split.
pub fn append(journal: &mut Journal, random: &mut Random) -> Kept {
    let len = match random.below(8) {
        0 => 0,
        1 => random.index(3_000),
        _ => random.index(200),
    };
    let kind = random.number().to_le_bytes()[0] % 190 + 1;
    let body = random.bytes(len);
    let (front, back) = body.split_at(random.index(len + 1));
    journal.append(kind, &[front, back]);
    (kind, body)
}

/// What is kept of records: how many there are, and something that differs when they do.
fn state(records: &[Kept]) -> Vec<u8> {
    let mut sum = records.len() as u64;
    for (kind, body) in records {
        for byte in [*kind].iter().chain(body) {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    }
    sum.to_le_bytes().repeat(100)
}

/// What must be there, what may be there behind it, and what life comes next.
pub struct World {
    pub random: Random,
    disk: CrashDisk,
    wrap: fn(CrashDisk) -> Arc<dyn Disk>,
    options: Options,
    /// Each life has a durability of its own.
    is_changing: bool,
    /// Zeros are written ahead now and then.
    is_filling: bool,
    /// Old records are dropped and state is kept now and then.
    is_keeping_state: bool,
    /// The first kept sequence, as readers saw it last.
    first: u64,
    /// The highest sequence before which records were dropped.
    asked: u64,
    /// The newest record whose state was kept.
    checkpoint: Option<u64>,
    lived_with: Durability,
    /// Committed.
    acknowledged: Vec<Kept>,
    /// Of the acknowledged, those that survive a loss of power.
    synced: usize,
    /// In a commit that failed.
    in_doubt: Vec<Kept>,
    epoch: Option<u32>,
    /// Power was lost since the last life.
    lost_power: bool,
    was_closed: bool,
}

impl World {
    pub fn new(seed: u64, durability: Durability, wrap: fn(CrashDisk) -> Arc<dyn Disk>) -> Self {
        let mut random = Random::new(seed);
        let segment_bytes = [100, 600, 2_000, 20_000][random.index(4)];
        Self {
            disk: CrashDisk::new(random.number()),
            random,
            wrap,
            options: options(segment_bytes, durability),
            is_changing: false,
            is_filling: false,
            is_keeping_state: false,
            first: 1,
            asked: 1,
            checkpoint: None,
            lived_with: durability,
            acknowledged: Vec::new(),
            synced: 0,
            in_doubt: Vec::new(),
            epoch: None,
            lost_power: false,
            was_closed: false,
        }
    }

    /// Lets each life have a durability of its own.
    pub fn changing(mut self) -> Self {
        self.is_changing = true;
        self
    }

    /// Writes ahead at random moments.
    pub fn filling(mut self) -> Self {
        self.is_filling = true;
        self
    }

    /// Drops old records and keeps state at random moments.
    pub fn keeping_state(mut self) -> Self {
        self.is_keeping_state = true;
        self
    }

    pub fn run(&mut self) -> Check {
        for _ in 0..6 {
            let journal = self.open()?;
            self.live(journal)?;
        }
        self.open().map(drop)
    }

    /// Opens, now and then after attempts that met a failing disk or a loss of power.
    fn open(&mut self) -> Check<Journal> {
        if self.is_changing {
            self.options.durability = if self.random.one_in(2) {
                Durability::Fsync
            } else {
                Durability::Os
            };
        }
        while self.random.one_in(3) {
            self.break_something(6);
            // An attempt may end just after it noted that the journal is open.
            let _ = Journal::open((self.wrap)(self.disk.clone()), self.options.clone());
            self.was_closed = false;
            if self.random.one_in(2) {
                self.lose_power();
            }
        }
        // Faults that did not come due stay with the old disk.
        let disk = self.disk.clone();
        disk.clear_faults();
        let journal = Journal::open((self.wrap)(disk), self.options.clone())
            .map_err(|error| format!("does not open: {error}"))?;
        self.check_opened(&journal)?;
        Ok(journal)
    }

    fn check_opened(&mut self, journal: &Journal) -> Check {
        let found = self.read(&journal.reader())?;
        let floor = if self.lost_power {
            self.synced
        } else {
            self.acknowledged.len()
        };
        ensure!(
            found.len() >= floor,
            "{} records of {floor} are left",
            found.len()
        );
        let mut possible = self.acknowledged.clone();
        possible.extend_from_slice(&self.in_doubt);
        ensure!(
            possible.starts_with(&found),
            "records that nobody wrote, or in another order"
        );
        ensure!(
            journal.next_sequence() == found.len() as u64 + 1,
            "the next sequence is wrong"
        );
        let epoch = journal.reader().cursor(0).epoch;
        if let Some(before) = self.epoch {
            let has_lost = found.len() < self.acknowledged.len();
            ensure!(
                epoch > before || !has_lost,
                "records were lost and the epoch stayed"
            );
            let lives = [self.lived_with, self.options.durability];
            let is_calm = lives == [Durability::Fsync; 2] || self.was_closed;
            ensure!(
                epoch == before || !is_calm,
                "the epoch moved without a reason"
            );
        }
        self.epoch = Some(epoch);
        self.check_state(journal, &found)?;
        self.lived_with = self.options.durability;
        self.synced = found.len();
        self.acknowledged = found;
        self.in_doubt.clear();
        self.lost_power = false;
        self.was_closed = false;
        Ok(())
    }

    fn live(&mut self, mut journal: Journal) -> Check {
        let reader = journal.reader();
        let syncer = journal.syncer();
        let filler = journal.filler();
        if self.random.one_in(2) {
            self.break_something(20);
        }
        for _ in 0..self.random.below(12) {
            let batch: Vec<Kept> = (0..self.random.below(5))
                .map(|_| append(&mut journal, &mut self.random))
                .collect();
            self.fill(&filler);
            let durable = self.acknowledged.len() as u64;
            ensure!(
                reader.range().1 == durable,
                "readers see what is not committed"
            );
            match journal.commit() {
                Ok(()) => self.acknowledged.extend(batch),
                Err(_) => {
                    self.in_doubt = batch;
                    self.check_poisoned(&mut journal, &filler)?;
                    break;
                }
            }
            if self.options.durability == Durability::Fsync
                || self.random.one_in(4) && syncer.sync().is_ok()
            {
                self.synced = self.acknowledged.len();
            }
            self.keep_state(&journal)?;
            if self.random.one_in(4) {
                self.check_reader(&reader)?;
            }
        }
        self.check_reader(&reader)?;
        self.fill(&filler);
        self.end(journal);
        self.disk.clear_faults();
        self.verify(0)?;
        let writes = self.disk.count(Operation::Write);
        let _ = filler.step();
        ensure!(
            self.disk.count(Operation::Write) == writes,
            "something was written ahead after the end"
        );
        Ok(())
    }

    /// A few steps, which may fail; what matters is what the journal then does.
    fn fill(&mut self, filler: &Filler) {
        if self.is_filling && self.random.one_in(2) {
            for _ in 0..self.random.below(50) {
                let _ = filler.step();
            }
        }
    }

    fn check_poisoned(&mut self, journal: &mut Journal, filler: &Filler) -> Check {
        self.disk.clear_faults();
        let writes = self.disk.count(Operation::Write);
        for _ in 0..2 {
            append(journal, &mut self.random);
            let again = journal.commit();
            let _ = filler.step();
            ensure!(
                matches!(again, Err(Error::Poisoned)),
                "a failed commit was followed by {again:?}"
            );
        }
        ensure!(
            self.disk.count(Operation::Write) == writes,
            "something was written after a failure"
        );
        Ok(())
    }

    fn check_reader(&mut self, reader: &Reader) -> Check {
        // Reads fail on command too; that is not what is looked at here.
        self.disk.clear_faults();
        let found = self.read(reader)?;
        ensure!(
            found == self.acknowledged,
            "readers do not see what was acknowledged"
        );
        if self.random.one_in(4) {
            self.verify(self.acknowledged.len())?;
        }
        Ok(())
    }

    /// Whatever happened to it, an honest folder is not called damaged.
    fn verify(&self, records_min: usize) -> Check {
        let disk = (self.wrap)(self.disk.clone());
        let looked = crate::files::look(disk.as_ref());
        let (verified, findings) =
            looked.map_err(|error| format!("cannot be verified: {error}"))?;
        let damage = findings.into_iter().find(|finding| finding.is_damage);
        ensure!(damage.is_none(), "called damaged: {damage:?}");
        ensure!(
            verified.last >= records_min as u64
                && verified.records == verified.last + 1 - verified.first,
            "{verified:?} of {records_min} records"
        );
        Ok(())
    }

    /// What readers see, behind what was dropped.
    fn read(&mut self, reader: &Reader) -> Check<Vec<Kept>> {
        let (first, _) = reader.range();
        ensure!(
            (self.first..=self.asked).contains(&first),
            "records are kept from {first} on, not between {} and {}",
            self.first,
            self.asked
        );
        self.first = first;
        let both = self.acknowledged.iter().chain(&self.in_doubt);
        let dropped = usize::try_from(first - 1).unwrap_or(usize::MAX);
        let mut all: Vec<Kept> = both.take(dropped).cloned().collect();
        ensure!(all.len() == dropped, "more was dropped than there ever was");
        let kept = read_all(reader, &mut self.random);
        all.extend(kept.map_err(|error| format!("cannot be read: {error}"))?);
        Ok(all)
    }

    /// Both may fail; what matters is what is found then.
    fn keep_state(&mut self, journal: &Journal) -> Check {
        if self.is_keeping_state && self.random.one_in(4) {
            let last = self.acknowledged.len();
            let body = state(&self.acknowledged);
            let durable = journal.checkpoints().write(last as u64, &body);
            if durable.is_ok() {
                self.checkpoint = Some(last as u64);
                self.synced = last;
            }
        }
        if self.is_keeping_state && self.random.one_in(4) {
            let sequence = self.random.below(self.acknowledged.len() as u64 + 2);
            self.asked = self.asked.max(sequence);
            let dropped = journal.drop_before(sequence);
            let (first, _) = journal.reader().range();
            ensure!(
                dropped.map_or(0, |dropped| dropped.records) < first,
                "more was dropped than readers are told"
            );
        }
        Ok(())
    }

    /// The newest state that was kept is there, and is the state of these records.
    fn check_state(&mut self, journal: &Journal, found: &[Kept]) -> Check {
        let (checkpoint, unusable) = journal
            .checkpoints()
            .look(u64::MAX)
            .map_err(|error| error.to_string())?;
        ensure!(unusable.is_empty(), "broken: {unusable:?}");
        let newest = checkpoint.as_ref().map(|found| found.sequence);
        ensure!(
            newest >= self.checkpoint,
            "the state after {:?} was kept, {newest:?} is there",
            self.checkpoint
        );
        self.checkpoint = newest;
        if let Some(checkpoint) = checkpoint {
            let records = usize::try_from(checkpoint.sequence).unwrap_or(usize::MAX);
            let of = found.get(..records).map(state);
            ensure!(
                of.is_some_and(|of| of == checkpoint.body),
                "the state after {records} is not that of these records"
            );
        }
        Ok(())
    }

    fn end(&mut self, mut journal: Journal) {
        match self.random.below(4) {
            0 => {
                self.disk.clear_faults();
                if journal.close().is_ok() {
                    self.was_closed = true;
                    self.synced = self.acknowledged.len();
                    if self.random.one_in(2) {
                        self.lose_power();
                    }
                }
            }
            // The process is killed: the system still writes what it was given.
            1 => drop(journal),
            // Power is lost, with records that were never committed.
            2 => {
                append(&mut journal, &mut self.random);
                self.lose_power();
            }
            // Power is lost in the middle of a commit.
            _ => {
                let batch: Vec<Kept> = (0..1 + self.random.below(4))
                    .map(|_| append(&mut journal, &mut self.random))
                    .collect();
                self.disk.clear_faults();
                self.disk.fail_after(0, Operation::Sync, Cause::Broken);
                match journal.commit() {
                    Err(Error::Poisoned) => {}
                    Err(_) => self.in_doubt = batch,
                    Ok(()) => self.acknowledged.extend(batch),
                }
                self.lose_power();
            }
        }
    }

    fn lose_power(&mut self) {
        self.disk = self.disk.crash();
        self.lost_power = true;
    }

    fn break_something(&mut self, within: u64) {
        let operation = [
            Operation::Open,
            Operation::Create,
            Operation::Rename,
            Operation::Remove,
            Operation::SyncFolder,
            Operation::Write,
            Operation::Truncate,
            Operation::Sync,
        ][self.random.index(8)];
        let cause = if self.random.one_in(2) {
            Cause::Broken
        } else {
            Cause::Full
        };
        self.disk
            .fail_after(self.random.below(within), operation, cause);
    }
}
