// SPDX-License-Identifier: Apache-2.0
// Counts words of its arguments in a store, over libofframp: rustc count.rs -L LIB -l offramp && ./count ADDRESS word...
use std::ffi::{c_char, c_int, c_void, CStr, CString};

#[repr(C)]
struct Request {
    tag: u64,
    operation: u32,
    reserved: u32,
    text: [*const c_char; 3],
    length: [usize; 3],
    number: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Answer {
    tag: u64,
    status: i32,
    reserved: i32,
    number: i64,
    value: *const c_char,
    length: usize,
}

extern "C" {
    fn offramp_connect(address: *const c_char, settings: *const c_void, why: *mut c_char) -> *mut c_void;
    fn offramp_submit(client: *mut c_void, requests: *const Request, count: usize, why: *mut c_char) -> c_int;
    fn offramp_wait(client: *mut c_void, timeout_ms: c_int, why: *mut c_char) -> c_int;
    fn offramp_poll(client: *mut c_void, answers: *mut Answer, room: usize, why: *mut c_char) -> i64;
    fn offramp_pending(client: *const c_void) -> usize;
    fn offramp_close(client: *mut c_void);
}

const INCR: u32 = 3;

fn main() {
    let words: Vec<CString> = std::env::args().skip(1).map(|each| CString::new(each).unwrap()).collect();
    let mut why = [0 as c_char; 256];
    unsafe {
        let client = offramp_connect(words[0].as_ptr(), std::ptr::null(), why.as_mut_ptr());
        assert!(!client.is_null(), "{:?}", CStr::from_ptr(why.as_ptr()));
        let none = std::ptr::null();
        let request = |(tag, word): (usize, &CString)| Request {
            tag: tag as u64, operation: INCR, reserved: 0, text: [word.as_ptr(), none, none], length: [word.as_bytes().len(), 0, 0], number: 1,
        };
        let requests: Vec<Request> = words[1..].iter().enumerate().map(request).collect();
        assert_eq!(offramp_submit(client, requests.as_ptr(), requests.len(), why.as_mut_ptr()), 0);
        let mut answers = [Answer { tag: 0, status: 0, reserved: 0, number: 0, value: none, length: 0 }; 16];
        while offramp_pending(client) > 0 {
            assert_eq!(offramp_wait(client, 5000, why.as_mut_ptr()), 1, "{:?}", CStr::from_ptr(why.as_ptr()));
            let count = offramp_poll(client, answers.as_mut_ptr(), 16, why.as_mut_ptr()).max(0) as usize;
            for answer in &answers[..count] {
                println!("{} {}", words[answer.tag as usize + 1].to_str().unwrap(), answer.number);
            }
        }
        offramp_close(client);
    }
}
