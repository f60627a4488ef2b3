//! Series that scenarios can record, with their names and units.

use multihop_transport::connection::built_in_quantities;
use multihop_transport::observe::Quantity;

use super::extension::Extensions;
use super::model::Series;

impl Extensions {
    /// The series that scenarios can record: quantities declared by the program's transports, and the series
    /// of every network.
    pub fn series(&self) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for Quantity { name, unit, .. } in built_in_quantities().copied().chain(self.declared()) {
            if all.iter().all(|series| series.word() != name) {
                all.push(Series::Declared { name, unit });
            }
        }
        all.extend(Series::OF_NETWORKS);
        all
    }

    /// Quantities that user-defined transports and congestion controls declare.
    fn declared(&self) -> Vec<Quantity> {
        let transports = self.transports.iter().map(|entry| (entry.make)());
        let of_transports =
            transports.flat_map(|config| (0..).map_while(|index| config.quantity(index)).collect::<Vec<_>>());
        let controls = self.controls.iter().map(|entry| (entry.make)());
        let of_controls =
            controls.flat_map(|control| (0..).map_while(|index| control.quantity(index)).collect::<Vec<_>>());
        of_transports.chain(of_controls).copied().collect()
    }
}
