//! Any other table: columns that the user names by number or by their headings,
//! `time=3:us,op=1,lba=4:bytes,size=5:bytes,stream=0` or `time=timestamp:us,op=rw,lba=offset:bytes,size=length:bytes`.

mod columns;
mod lines;
mod parquet;

pub use columns::Columns;
pub(crate) use lines::Table;
pub(crate) use parquet::{ParquetTable, is_parquet};

#[cfg(test)]
mod tests;
