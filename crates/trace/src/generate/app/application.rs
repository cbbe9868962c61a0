//! Applications by name.

/// An application whose writes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// Songs copied from folder to folder.
    CopyMp3,
    /// The disk test of a benchmark of computers.
    Pcmark05,
    /// Surfing.
    Browser,
    /// Messages fetched.
    Email,
    /// Windows installed on NTFS.
    InstallWindows,
    /// Linux installed on ext3.
    InstallLinux,
    /// A file-sharing client with chunks of 9.28 MB.
    Emule,
    /// A file-sharing client with pieces of 1 MB.
    Bittorrent,
    /// Linux installed on ext4.
    Ext4Install,
    /// A package built from sources.
    PackageBuild,
    /// SQLite with a write-ahead log.
    SqliteWal,
    /// A relational server with checkpoints.
    Postgresql,
    /// A log-structured store that compacts.
    Rocksdb,
    /// A virtual machine that starts.
    VmBoot,
}

impl App {
    /// All applications, in the order of the documentation.
    pub const ALL: [App; 14] = [
        App::CopyMp3,
        App::Pcmark05,
        App::Browser,
        App::Email,
        App::InstallWindows,
        App::InstallLinux,
        App::Emule,
        App::Bittorrent,
        App::Ext4Install,
        App::PackageBuild,
        App::SqliteWal,
        App::Postgresql,
        App::Rocksdb,
        App::VmBoot,
    ];

    /// The name in a spec.
    pub const fn name(self) -> &'static str {
        match self {
            App::CopyMp3 => "copy-mp3",
            App::Pcmark05 => "pcmark05",
            App::Browser => "browser",
            App::Email => "email",
            App::InstallWindows => "install-windows",
            App::InstallLinux => "install-linux",
            App::Emule => "emule",
            App::Bittorrent => "bittorrent",
            App::Ext4Install => "ext4-install",
            App::PackageBuild => "package-build",
            App::SqliteWal => "sqlite-wal",
            App::Postgresql => "postgresql",
            App::Rocksdb => "rocksdb",
            App::VmBoot => "vm-boot",
        }
    }

    /// One sentence for the command line.
    pub const fn help(self) -> &'static str {
        match self {
            App::CopyMp3 => "200 songs copied from folder to folder on NTFS",
            App::Pcmark05 => "the disk test of a benchmark of computers, hot and cold data apart",
            App::Browser => "three hours of surfing: small rewrites in a small area, hot and cold data mixed",
            App::Email => "200 messages fetched: a small mail folder and its index",
            App::InstallWindows => "Windows installed on NTFS: files of all sizes, and settings",
            App::InstallLinux => "Linux installed on ext3: small writes to all group headers",
            App::Emule => "file sharing in chunks of 9.28 MB, several of them filled at once in 4 to 12 KiB",
            App::Bittorrent => "file sharing in pieces of 1 MB, gathered in memory: long scattered writes",
            App::Ext4Install => "Linux installed on ext4: delayed allocation, a journal, gathered tables",
            App::PackageBuild => "a package built from sources: many small files come and go",
            App::SqliteWal => {
                "SQLite in WAL mode: a log that is appended to, and checkpoints into the database"
            }
            App::Postgresql => "a relational server: log segments, checkpoints of 8 KiB pages, vacuum",
            App::Rocksdb => "a log-structured store: log, flushes and compactions in files of 64 MiB",
            App::VmBoot => "a virtual machine that starts: small writes all over its image, and logs",
        }
    }
}
