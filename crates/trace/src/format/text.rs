//! Formats of lines: their decoders.

use super::Format;
use super::line::LineDecoder;
use super::table::{Columns, Table};
use super::{
    alibaba, biotracer, blkparse, blkreplay, columns5, diskmon, fio, fiu, hfplayer, msr, pixel, spc, systor,
};
use super::{kvcache, rocksdb, tencent, vscsi_csv, wpa};

/// A decoder of a format's lines; `None` if it has no lines, or is a table without columns.
pub(super) fn decoder(format: Format, columns: Option<&Columns>) -> Option<Box<dyn LineDecoder>> {
    Some(match format {
        Format::Msr => Box::new(msr::Msr),
        Format::MsrExcel => Box::new(msr::MsrExcel),
        Format::Spc => Box::new(spc::Spc),
        Format::Disksim => Box::new(columns5::Columns5::DISKSIM),
        Format::Ssdsim => Box::new(columns5::Columns5::SSDSIM),
        Format::Mqsim => Box::new(columns5::Columns5::MQSIM),
        Format::MqsimMs => Box::new(columns5::Columns5::MQSIM_MS),
        Format::Flashsim => Box::new(columns5::Columns5::FLASHSIM),
        Format::Blkparse => Box::new(blkparse::Blkparse::default()),
        Format::FioV2 => Box::new(fio::Fio::new(2)),
        Format::FioV3 => Box::new(fio::Fio::new(3)),
        Format::Alibaba => Box::new(alibaba::Alibaba),
        Format::Replaylog => Box::new(alibaba::Replaylog),
        Format::Tencent => Box::new(tencent::Tencent),
        Format::Systor => Box::new(systor::Systor),
        Format::Diskmon => Box::new(diskmon::Diskmon),
        Format::Blkreplay => Box::new(blkreplay::Blkreplay::default()),
        Format::VscsiCsv => Box::new(vscsi_csv::VscsiCsv),
        Format::Fiu => Box::new(fiu::Fiu),
        Format::Biotracer => Box::new(biotracer::Biotracer::default()),
        Format::Pixel => Box::new(pixel::Pixel),
        Format::Wpa => Box::new(wpa::Wpa),
        Format::Hfplayer => Box::new(hfplayer::Hfplayer::default()),
        Format::Kvcache => Box::new(kvcache::Kvcache::default()),
        Format::RocksdbBlock => Box::new(rocksdb::RocksdbBlock),
        Format::RocksdbIo => Box::new(rocksdb::RocksdbIo::default()),
        Format::Table => Box::new(Table::new(columns?)),
        Format::Blktrace
        | Format::BlktraceTar
        | Format::VscsiV1
        | Format::VscsiV2
        | Format::OracleGeneral
        | Format::Parquet
        | Format::Journal => return None,
    })
}
