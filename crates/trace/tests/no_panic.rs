//! Nothing panics on any bytes, and every reading ends: random bytes, and good lines that were mutated.
//!
//! `FLASHWEIR_FUZZ_CASES` sets how many files are tried; the default keeps the test short.

use flashweir_trace::format::{Columns, Format, Options, Trace, info};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A good line or two of every text format, to be mutated.
const SEEDS: [(Format, &str); 27] = [
    (
        Format::Msr,
        "128166385295514663,hm,0,Write,9056014336,2048,2833\n128166385295514878,hm,1,Read,0,512,2617\n",
    ),
    (
        Format::MsrExcel,
        "128166465299119000 \tRead\t1.82083E+11\t4096\n128166465299149000 \tWrite\t3221282304\t4096\n",
    ),
    (Format::Spc, "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214,x\n"),
    (Format::Disksim, "5265.313 0 6357144 8 0\n5265.703\t1\t6307768\t8\t1\n"),
    (Format::Ssdsim, "0 0 303567 7 0\n26214000 1 303574 7 1\n"),
    (Format::Mqsim, "938513000 4 264719034 16 0\n938828000 3 197570570 16 1\n"),
    (Format::MqsimMs, "1362509.099609 0 6300192 16 1\n3370046.347656 0 3304776 16 1\n"),
    (Format::Flashsim, "26.214000\t0\t303574\t1\t0\n78.643000\t0\t55596\t1\t1\n"),
    (
        Format::Blkparse,
        "  8,16   3   4     0.000011950  3645  Q   R 4938888 + 256 [java]\n  8,16   3   5     0.000026421  3645  D  RS 4938888 + 256 [a b]\n  8,16   3   7 1266874889.709551615  3557  C   R 4938888 + 256 [0]\n  8,16   3   8     0.002  3557  D  FN [k]\nCPU0 (8,16):\n Reads Queued: 0\n",
    ),
    (
        Format::FioV2,
        "fio version 2 iolog\nf add\nf write 64757760 4096\nf wait 2000 0\nf sync 0 0\nf close\n",
    ),
    (
        Format::FioV3,
        "fio version 3 iolog\n16 f add\n171 f write 1011712 65536\nfio version 3 iolog\n5 f trim 0 512\n",
    ),
    (Format::Alibaba, "0,R,126703644672,4096,1577808000000626\n7,W,0,512,1577808000000700\n"),
    (Format::Replaylog, "0.000,81,0,4096,23979941888,0.096,4096\n8.724,6,1,4096,21511340032,8.781,-1\n"),
    (Format::Tencent, "1538323200,4247200,128,1,1058\n1538323199,13896880,128,0,1063\n"),
    (
        Format::Systor,
        "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,899056122368,131072\n1456095145.126285000,,,1,0,512\n",
    ),
    (
        Format::Diskmon,
        "0\t0.500000\t0.00001544\t0\tWrite\t49339162\t3\n1\t0.800423\t0.0\t0\tRead\t13108142\t8\n",
    ),
    (
        Format::Blkreplay,
        "licence\nstart ; sector; length ; op\n 0.000000000 ; 37766853 ; 64 ; W ; 0.0 ; 0.5\n 1 ; 8 ; 8 ; RA\n",
    ),
    (Format::VscsiCsv, "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633898,35,0,7\n"),
    (
        Format::Fiu,
        "89966527950584 4253 nfsd x 508516672 8 W 6 0 88b93b\n\0\0\0\n89966527996712 4253 a 8 8 R 6 1\n",
    ),
    (
        Format::Biotracer,
        "0\t\t8\t\t4096\t\t4\t\t1.5\t\t1.6\t\t1.7\t\t1.8\n8\t\t17\t\t8704\t\t1\t\t1.7\t\t1398396748.1\t\t1398396748.2\t\t1398396748.3\n",
    ),
    (
        Format::Pixel,
        "proces,device,rw_flag,sector,size,timestamp\r\n<...>-1,8388608,R,29880920,16,159273.83748699998\r\n",
    ),
    (
        Format::Wpa,
        "IO Type;Priority\r\nWrite;N;S;1,5;1,6;1.795,9;87,2;16.384;0x400;0x43FF;0;0;1;1\r\nFlush;N;S;1,7;1,8;4;4;0;0xF;0xF;0;1;1;1\r\n",
    ),
    (
        Format::Hfplayer,
        "#X.I,ELAPSED_USECS.D,CMD.S,SEQID.I,LBA.I,NBLKS.I,LATENCY_USECS.D\n1,10.5,RD_IN,7,8178892672,8,0.000\n3,20.5,RD_OUT,7,0,0,10.0\n",
    ),
    (
        Format::Kvcache,
        "key,op,size,op_count,key_size\n1668757755,SET,82,1,40\n1668757755,GET,5000,3,40\n16,DELETE,0,1,40\n",
    ),
    (
        Format::RocksdbBlock,
        "1000005,7,9,4096,0,default,2,12,10,0,5,6,100,0,1,30,13,0,24,20,8192\n1000009,8,7,64,0,a,0,13,1,0,5,6,100,1,1,30,13,0,24,20,0\n",
    ),
    (
        Format::RocksdbIo,
        "Start Time: 1\nAccess Time : 1000 , File Name: 4.log , File Operation: Append , Latency: 10 , IO Status: OK, Length: 512\nAccess Time : 2000 , File Name: 9.sst , File Operation: Read , Latency: 10 , IO Status: OK, Length: 4096, Offset: 8192\nAccess Time : 3000 , File Name: 4.log , File Operation: DeleteFile , Latency: 1 , IO Status: OK\n",
    ),
    (Format::Table, "7,Read,x,1000,4096,512\n9,1,x,1001.5,0,1\n9,0x28,x,1002,0,1\n"),
];

/// Pieces that break parsers, put into lines.
const PIECES: [&[u8]; 20] = [
    b"18446744073709551615",
    b"18446744073709551616",
    b"-1",
    b"0",
    b"1e60",
    b"1e-60",
    b"9.99E+18",
    b"\0\0",
    b"\r\n",
    b"\n",
    b",",
    b";",
    b"\t",
    b" ",
    b"0x",
    b"4294967296",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b".",
    b"99999999999.999999999999",
];

fn mutate(random: &mut Xoshiro256PlusPlus, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.repeat(1 + (random.next_u64() % 3) as usize);
    for _ in 0..=random.next_u64() % 6 {
        let at = (random.next_u64() % (bytes.len() as u64 + 1)) as usize;
        match random.next_u64() % 6 {
            0 if at < bytes.len() => bytes[at] = random.next_u64() as u8,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => {
                // A number is replaced as a whole.
                let end = bytes[at..]
                    .iter()
                    .position(|byte| !byte.is_ascii_digit())
                    .map_or(bytes.len(), |n| at + n);
                let piece = PIECES[(random.next_u64() % PIECES.len() as u64) as usize];
                bytes.splice(at..end, piece.iter().copied());
            }
            4 => {
                let from = (random.next_u64() % (bytes.len() as u64 + 1)) as usize;
                let part = bytes[from.min(at)..from.max(at)].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let piece = PIECES[(random.next_u64() % PIECES.len() as u64) as usize];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
    bytes
}

/// Reads `bytes` in every way there is; whatever comes of it, it must come to an end.
fn digest(path: &std::path::Path, bytes: &[u8], format: Option<Format>) {
    std::fs::write(path, bytes).expect("a scratch file");
    let columns = (format == Some(Format::Table)).then(|| {
        Columns::parse("time=3:us,op=1:read1,lba=4:bytes,size=5:bytes,stream=0").expect("a good spec")
    });
    for skip_bad in [0, 1000] {
        let options = Options { format, columns: columns.clone(), skip_bad, ..Options::default() };
        let Ok(mut trace) = Trace::open(path, &options) else { continue };
        let (mut requests, mut calls) = (Vec::new(), 0);
        while let Ok(true) = trace.read(&mut requests, 3) {
            calls += 1;
            assert!(calls <= bytes.len() + 10, "no end: {:?} of {}", format, bytes.escape_ascii());
        }
        for pair in requests.windows(2) {
            assert!(pair[0].time_ns <= pair[1].time_ns, "{:?} of {}", format, bytes.escape_ascii());
        }
        for request in &requests {
            assert!(request.lba.checked_add(u64::from(request.sectors)).is_some());
            assert_eq!(request.sectors == 0, request.op == flashweir_trace::Op::Flush);
        }
        let Ok(mut trace) = Trace::open(path, &options) else { continue };
        let mut records = Vec::new();
        while let Ok(true) = trace.read_log(&mut records, 3) {}
        if skip_bad > 0 {
            assert_eq!(records.len(), requests.len(), "{:?} of {}", format, bytes.escape_ascii());
        }
    }
    // Footprints of absurd sizes take absurd memory, so only small files of random bytes are summed up.
    if format.is_none() {
        let _ = info(path, &Options::default());
    }
}

fn cases() -> u64 {
    std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

fn scratch(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("flashweir-fuzz-{}-{name}", std::process::id()))
}

#[test]
fn good_lines_are_good() {
    for (format, seed) in SEEDS {
        let path = scratch(&format!("seed-{format}"));
        std::fs::write(&path, seed).expect("a scratch file");
        let columns = (format == Format::Table).then(|| {
            Columns::parse("time=3:us,op=1:read1,lba=4:bytes,size=5:bytes,stream=0").expect("a good spec")
        });
        let options = Options { format: Some(format), columns, ..Options::default() };
        let info = info(&path, &options).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert!(info.report.requests > 0, "{format}");
        std::fs::remove_file(&path).expect("there");
    }
}

#[test]
fn mutated_lines_never_panic() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let path = scratch("lines");
    for case in 0..cases() {
        let (format, seed) = SEEDS[(case % SEEDS.len() as u64) as usize];
        let bytes = mutate(&mut random, seed.as_bytes());
        digest(&path, &bytes, Some(format));
    }
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let path = scratch("bytes");
    for case in 0..cases() / 4 {
        let mut bytes = vec![0; (random.next_u64() % 400) as usize];
        random.fill_bytes(&mut bytes);
        // Every other file starts like one that is compressed or binary.
        let magic: &[u8] = match case % 8 {
            0 => &[0x1f, 0x8b, 8, 0],
            1 => &[0x28, 0xb5, 0x2f, 0xfd],
            2 => b"PAR1",
            3 => &[0x07, 0x74, 0x61, 0x65],
            _ => &[],
        };
        bytes.splice(0..0, magic.iter().copied());
        digest(&path, &bytes, None);
        for format in Format::ALL {
            if case % 16 == 0 {
                digest(&path, &bytes, Some(format));
            }
        }
    }
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn mutated_archives_never_panic() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(13);
    let path = scratch("archives");
    for case in 0..cases() / 10 {
        let (format, seed) = SEEDS[(case % SEEDS.len() as u64) as usize];
        let packed = zstd::stream::encode_all(seed.repeat(20).as_bytes(), 1).expect("memory");
        digest(&path, &mutate(&mut random, &packed), Some(format));
    }
    std::fs::remove_file(&path).expect("there");
}
