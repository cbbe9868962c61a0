//! Throughput limits of a channel with `n` dies: what no order of commands can exceed.

/// Times of one page or block, all in the same unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Transfer of one page over the channel, command included.
    pub(crate) transfer: f64,
    /// Array read of a page.
    pub(crate) read: f64,
    /// Array program of a page.
    pub(crate) program: f64,
    /// Erase of a block.
    pub(crate) erase: f64,
}

impl Times {
    /// Page writes a channel of `dies` sustains, in pages a unit of time.
    ///
    /// Without cache program a die is held during its own transfer; with it the next page comes in meanwhile, so that
    /// only the program counts.
    pub(crate) fn write_rate(&self, dies: u32, cache_program: bool) -> f64 {
        let held = if cache_program { self.program } else { self.transfer + self.program };
        (1.0 / self.transfer).min(f64::from(dies) / held)
    }

    /// Page reads a channel of `dies` sustains: the die holds its page until the transfer ends.
    pub(crate) fn read_rate(&self, dies: u32) -> f64 {
        (1.0 / self.transfer).min(f64::from(dies) / (self.read + self.transfer))
    }

    /// Die time a host page costs under sustained random writes at write amplification `amplification`:
    /// `(A-1)(t_R+t_x) + A(t_x+t_p) + (A/b) t_E`.
    pub(crate) fn die_time_of_write(&self, amplification: f64, pages_per_block: u32) -> f64 {
        (amplification - 1.0) * (self.read + self.transfer)
            + amplification * (self.transfer + self.program)
            + amplification / f64::from(pages_per_block) * self.erase
    }

    /// Host pages a unit of time that the channel lets through at write amplification `amplification`: each crosses
    /// once, and each copy twice.
    pub(crate) fn channel_limit_of_writes(&self, amplification: f64) -> f64 {
        1.0 / ((2.0 * amplification - 1.0) * self.transfer)
    }
}

/// Throughput of a closed queue of `depth` random reads over `dies`, exponential service of mean `service`:
/// `(n/s) Q/(Q+n-1)` (mean value analysis of a balanced closed network; Lazowska et al. 1984, section 6.4).
pub(crate) fn closed_queue_rate(dies: u32, service: f64, depth: u32) -> f64 {
    let (dies, depth) = (f64::from(dies), f64::from(depth));
    dies / service * depth / (depth + dies - 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::assert_printed;
    use super::*;

    fn times(transfer: f64, program: f64) -> Times {
        Times { transfer, read: 60.0, program, erase: 1_500.0 }
    }

    #[test]
    fn every_printed_limit() {
        assert_printed(times(100.0, 200.0).write_rate(4, false), 0.010_000, 6);
        assert_printed(times(50.0, 800.0).write_rate(8, false), 0.009_412, 6);
        assert_printed(times(50.0, 800.0).write_rate(8, true), 0.010_000, 6);
    }

    #[test]
    fn limits_by_hand() {
        let times = times(50.0, 800.0);
        assert_printed(times.read_rate(1), 1.0 / 110.0, 12);
        assert_printed(times.read_rate(8), 1.0 / 50.0, 12);
        // No copies at A = 1: one transfer, one program, and its share of an erase.
        assert_printed(times.die_time_of_write(1.0, 100), 865.0, 9);
        assert_printed(times.die_time_of_write(3.0, 100), 2.0 * 110.0 + 3.0 * 865.0, 9);
        assert_printed(times.channel_limit_of_writes(1.0), 1.0 / 50.0, 12);
        assert_printed(times.channel_limit_of_writes(3.0), 1.0 / 250.0, 12);
    }

    #[test]
    fn a_closed_queue_runs_from_one_server_to_all() {
        assert_printed(closed_queue_rate(8, 100.0, 1), 0.01, 12);
        assert_printed(closed_queue_rate(8, 100.0, 8), 0.08 * 8.0 / 15.0, 12);
        assert!(closed_queue_rate(8, 100.0, 10_000) > 0.0799);
    }
}
