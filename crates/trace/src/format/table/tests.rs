use super::super::line::LineDecoder;
use super::super::testing::{decode, decode_err, decode_log};
use super::*;
use crate::Op;

fn table(spec: &str) -> Box<dyn LineDecoder> {
    Box::new(Table::new(&Columns::parse(spec).expect("a good spec")))
}

#[test]
fn columns_have_units_and_separators() {
    let (requests, _) = decode(
        table("time=3:us,op=1,lba=4:bytes,size=5:bytes,stream=0,handle=0"),
        "7,Read,x,1000,4096,512\n9,w,x,1001.5,0,1\n9,F,x,1002,,\n9,0x28,,1003,8,8\n",
    );
    assert_eq!((requests[0].stream, requests[0].lba, requests[0].sectors), (7, 8, 1));
    assert_eq!(requests[0].handle, 7);
    assert_eq!((requests[1].time_ns, requests[1].op, requests[1].sectors), (1_500, Op::Write, 1));
    assert_eq!((requests[2].op, requests[3].op), (Op::Flush, Op::Read));
    let (requests, _) = decode(
        table("sep=space,header=1,time=0:100ns,op=1:read1,lba=2:4k-pages,size=3"),
        "t o l s\n 5  1  2  8\n6 0 2 9\n",
    );
    assert_eq!((requests[0].op, requests[0].lba, requests[0].sectors), (Op::Read, 16, 8));
    assert_eq!((requests[1].op, requests[1].time_ns), (Op::Write, 100));
    let (requests, _) = decode(table("sep=;,time=0,op=1:write1,lba=2,size=3"), "5;1;2;8\n");
    assert_eq!(requests[0].op, Op::Write);
}

#[test]
fn commands_to_zones_are_words() {
    let text = "0,append,0,8\n1,Open,64,64\n2,close,64,64\n3,FINISH,64,64\n4,reset,64,64\n5,offline,64,64\n";
    let (requests, report) = decode(table("time=0,op=1,lba=2,size=3"), text);
    let found: Vec<_> = requests.iter().map(|request| request.op).collect();
    assert_eq!(found, [Op::Append, Op::Open, Op::Close, Op::Finish, Op::Reset, Op::Offline]);
    assert_eq!((requests[1].lba, requests[1].sectors), (64, 64));
    assert_eq!((report.requests, report.writes, report.zone_commands), (6, 1, 5));
    assert!(decode_err(table("time=0,op=1,lba=2,size=3"), "0,reset,0,0\n").contains("a length above zero"));
}

#[test]
fn columns_are_found_by_their_headings() {
    let spec = "time=Timestamp:us,op=rw,lba=offset:bytes,size=length:bytes,response=rt:us";
    let text = "x,\"timestamp\", rw ,rt,offset,length\n,5,r,2.5,4096,512\n,6,W,,8192,1024\n";
    let log = decode_log(table(spec), text);
    assert_eq!((log[0].request.lba, log[0].completion_ns), (8, Some(2_500)));
    assert_eq!((log[1].request.time_ns, log[1].request.op, log[1].completion_ns), (1_000, Op::Write, None));
    let (requests, _) =
        decode(table("time=t,op=1,lba=2,size=3,header=2,sep=space"), "made by\nt o l s\n1 w 8 8\n");
    assert_eq!(requests[0].lba, 8);
    let error = decode_err(table("time=when,op=1,lba=2,size=3"), "t,o,l,s\n1,w,8,8\n");
    assert!(
        error.contains("columns: found no \"when\" among t, o, l, s, expected the name of a column"),
        "{error}"
    );
}

#[test]
fn a_name_that_ends_in_a_unit_has_it() {
    let text = "time_us,op,offset_bytes,size (Bytes),rt_ms\n1,r,4096,1024,2\n5,w,8192,512,1\n";
    let spec = "time=time_us,op=op,lba=offset_bytes,size=size (Bytes),response=rt_ms";
    let log = decode_log(table(spec), text);
    assert_eq!((log[0].request.lba, log[0].request.sectors, log[0].completion_ns), (8, 2, Some(2_000_000)));
    assert_eq!(log[1].request.time_ns, 4_000);
    // The unit after a colon is the one that counts, and a word that only begins like one is none.
    let (requests, _) =
        decode(table("time=t,op=op,lba=at_bytes:sectors,size=kbytes"), "t,op,at_bytes,kbytes\n1,r,8,16\n");
    assert_eq!((requests[0].lba, requests[0].sectors), (8, 16));
}

#[test]
fn bad_specs_say_what_was_expected() {
    for (spec, said) in [
        ("time", "key=column[:unit]"),
        ("time=,op=1,lba=2,size=3", "a column number from 0 to 63, or a name"),
        ("time=x,op=1,lba=2,size=3,header=0", "a line of headings"),
        ("time=64,op=1,lba=2,size=3", "a column number from 0 to 63"),
        ("time=0:weeks,op=1,lba=2,size=3", "a unit of ns, us, ms, s, 100ns"),
        ("time=0,op=1:maybe,lba=2,size=3", "read1 or write1"),
        ("time=0,op=1,lba=2:miles,size=3", "a unit of sectors, bytes, 4k-pages"),
        ("time=0,op=1,lba=2", "a column for size as well"),
        ("time=0,op=1,lba=2,size=3,sep=ab", "comma, tab, space or one character"),
        ("time=0,op=1,lba=2,size=3,header=x", "a number of lines"),
        ("time=0,op=1,lba=2,size=3,colour=4", "one of time, op, lba"),
        ("time=ts:us,time=lba:us,op=op,lba=lba:bytes,size=len", "columns \"time=lba:us\": each key once"),
        ("time=0,op=1,lba=2,size=3, op =1", "columns \" op =1\": each key once"),
    ] {
        let error = Columns::parse(spec).expect_err(spec).to_string();
        assert!(error.contains(said), "{spec}: {error}");
    }
}

#[test]
fn a_line_that_is_too_short_names_the_column_that_it_lacks() {
    let spec = "time=t,op=op,lba=at,size=length,device=disk";
    for (spec, text) in [
        (spec.to_owned(), "t,op,other,at,disk,length\n1,r,x,8,sda\n"),
        (format!("{spec},sep=space"), "t op other at disk length\n1 r x 8 sda\n"),
    ] {
        let error = decode_err(table(&spec), text);
        let said = "size: found the end of the line in place of field 6, \"length\", expected one more field";
        assert!(error.contains(said), "{error}");
    }
    // A column without a meaning is missed with the next one that has one.
    let error = decode_err(table("time=0,op=1,lba=4,size=5"), "1,r\n");
    assert!(error.contains("lba: found the end of the line in place of field 5, column 4"), "{error}");
}

#[test]
fn bad_fields_say_what_was_expected() {
    let spec = "time=0,op=1,lba=2,size=3,stream=4,handle=5";
    for (line, said) in [
        ("1,1,0,8,0,0", "op=COLUMN:read1"),
        ("1,x,0,8,0,0", "op: found \"x\""),
        ("1,r,0,8,70000,0", "stream: found \"70000\", expected a number below 65536"),
        ("1,r,0,8,0,256", "handle: found \"256\", expected a number below 256"),
        ("1,r,0,8", "stream: found the end of the line in place of field 5, column 4 of --columns"),
        ("1,r", "lba: found the end of the line in place of field 3, column 2 of --columns"),
        ("-1,r,0,8,0,0", "time: found \"-1\", expected a number that is not negative"),
    ] {
        assert!(decode_err(table(spec), line).contains(said), "{line}");
    }
}
