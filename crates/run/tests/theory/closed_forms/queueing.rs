//! Mean waiting and response times at one server (a die) with Poisson arrivals.

/// A class of requests at the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// Arrivals a unit of time, `lambda`.
    pub(crate) rate: f64,
    /// Mean service time, `E[S]`.
    pub(crate) mean: f64,
    /// Mean square of the service time, `E[S^2]`.
    pub(crate) mean_square: f64,
}

impl Class {
    /// A class whose every request takes `service`.
    pub(crate) fn fixed(rate: f64, service: f64) -> Self {
        Self { rate, mean: service, mean_square: service * service }
    }

    /// A class with exponential service of mean `service`.
    pub(crate) fn exponential(rate: f64, service: f64) -> Self {
        Self { rate, mean: service, mean_square: 2.0 * service * service }
    }

    /// Share of the server's time, `rho`.
    pub(crate) fn load(&self) -> f64 {
        self.rate * self.mean
    }

    /// Mean work in progress that an arrival finds, `lambda E[S^2] / 2`.
    fn residual(&self) -> f64 {
        self.rate * self.mean_square / 2.0
    }
}

/// Mean wait of every class when the server takes requests in order of arrival: `W0 / (1 - rho)` (Pollaczek and
/// Khinchine).
pub(crate) fn fifo_wait(classes: &[Class]) -> f64 {
    let load: f64 = classes.iter().map(Class::load).sum();
    classes.iter().map(Class::residual).sum::<f64>() / (1.0 - load)
}

/// Mean waits of `first` and `second` when the server prefers `first` but interrupts nothing: `W0 / (1 - rho_1)` and
/// `W0 / ((1 - rho_1)(1 - rho))` (Cobham, "Priority assignment in waiting line problems", Operations Research 1954).
pub(crate) fn priority_waits(first: Class, second: Class) -> (f64, f64) {
    let residual = first.residual() + second.residual();
    let free_of_first = 1.0 - first.load();
    let free = free_of_first - second.load();
    (residual / free_of_first, residual / (free_of_first * free))
}

/// Mean response times of `first` and `second` when `first` interrupts `second`, which then goes on where it was:
/// preemptive resume (Kleinrock, "Queueing systems" 2, section 3.4).
pub(crate) fn preemptive_responses(first: Class, second: Class) -> (f64, f64) {
    let free_of_first = 1.0 - first.load();
    let (_, wait) = priority_waits(first, second);
    (first.mean + first.residual() / free_of_first, second.mean / free_of_first + wait)
}

/// Mean wait when the server, whenever idle, takes slices `V` of background work that nothing interrupts:
/// `lambda E[S^2] / (2(1 - rho)) + E[V^2] / (2 E[V])` (server with vacations; Doshi 1986).
pub(crate) fn wait_behind_slices(class: Class, slice_mean: f64, slice_mean_square: f64) -> f64 {
    fifo_wait(&[class]) + slice_mean_square / (2.0 * slice_mean)
}

#[cfg(test)]
mod tests {
    use super::super::assert_printed;
    use super::*;

    #[test]
    fn every_printed_wait() {
        let (reads, writes) = (Class::fixed(0.002, 125.0), Class::fixed(0.0015, 300.0));
        assert_printed(fifo_wait(&[reads, writes]), 277.08, 2);
        let (read_wait, write_wait) = priority_waits(reads, writes);
        assert_printed(read_wait, 110.83, 2);
        assert_printed(write_wait, 369.44, 2);
        let (read_response, write_response) = preemptive_responses(reads, writes);
        assert_printed(read_response, 145.83, 2);
        assert_printed(write_response, 769.44, 2);
    }

    #[test]
    fn waits_by_hand() {
        // M/M/1: rho / (mu - lambda).
        assert_printed(fifo_wait(&[Class::exponential(0.5, 1.0)]), 1.0, 12);
        // M/D/1 waits half as long.
        assert_printed(fifo_wait(&[Class::fixed(0.5, 1.0)]), 0.5, 12);
        // Nothing to prefer, nothing to interrupt.
        let (only, none) = (Class::fixed(0.5, 1.0), Class::fixed(0.0, 1.0));
        assert_printed(priority_waits(only, none).0, 0.5, 12);
        assert_printed(preemptive_responses(none, only).1, 1.5, 12);
        // Priorities move waiting between classes and keep the work: sum rho_k W_k is the same.
        let (a, b) = (Class::fixed(0.002, 125.0), Class::exponential(0.0015, 300.0));
        let (first, second) = priority_waits(a, b);
        let wait = fifo_wait(&[a, b]);
        assert_printed(a.load() * first + b.load() * second, (a.load() + b.load()) * wait, 9);
        // Slices of fixed length delay by half a slice.
        assert_printed(wait_behind_slices(Class::fixed(0.0, 1.0), 10.0, 100.0), 5.0, 12);
    }
}
