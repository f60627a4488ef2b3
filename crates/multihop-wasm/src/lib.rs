//! The simulator inside a browser: scenario in, records and result out.
//!
//! A module has one run. Its caller writes a request into [`input`] and reads answers at [`output`]; records are read in
//! place. To seek, the caller copies the memory of the module and continues from the copy: it is the whole state.

mod session;

use std::cell::RefCell;

use multihop_core::Instant;

use self::session::Session;

#[derive(Default)]
struct Module {
    input: Vec<u8>,
    output: Vec<u8>,
    session: Option<Session>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

fn with<T>(act: impl FnOnce(&mut Module) -> T) -> T {
    MODULE.with_borrow_mut(act)
}

fn with_session<T: Default>(act: impl FnOnce(&mut Session) -> T) -> T {
    with(|module| module.session.as_mut().map(act)).unwrap_or_default()
}

/// Reserves memory for a request of `length` bytes, and returns its address.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    with(|module| {
        module.input = vec![0; length];
        module.input.as_mut_ptr()
    })
}

/// Address of the last answer.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|module| module.output.as_ptr())
}

/// Length of the last answer, bytes.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    with(|module| module.output.len())
}

/// Begins the run that the input requests. Answers 1 and a description of the network, or 0 and what is wrong.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn load() -> u32 {
    with(|module| match Session::new(&module.input) {
        Ok((session, description)) => {
            module.session = Some(session);
            module.output = description;
            1
        }
        Err(problem) => {
            module.output = problem.into_bytes();
            0
        }
    })
}

/// Moves the run on to `nanos`.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn advance(nanos: f64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    let at = Instant::from_nanos(nanos as u64);
    with_session(|session| session.advance(at));
}

/// Appends further bytes of the recording, which the caller has written to the input.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn feed() {
    with(|module| {
        if let Some(session) = &mut module.session {
            session.feed(&module.input);
        }
    });
}

/// Virtual time up to which the run can be simulated, ns.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn known() -> f64 {
    with_session(|session| session.known().as_nanos() as f64)
}

/// The end of the run, as far as it is known, ns.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn end() -> f64 {
    with_session(|session| session.end().as_nanos() as f64)
}

/// Whether states of stations and fields of packets are recorded from now on.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn detailed(detailed: u32) {
    with_session(|session| session.set_detailed(detailed != 0));
}

/// Address of the records of events, an array of 32-bit words.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn records() -> *const u32 {
    with(|module| module.session.as_mut().map_or(std::ptr::null(), |session| session.records().as_ptr()))
}

/// Length of the records, in words.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn records_length() -> usize {
    with_session(|session| session.records().len())
}

/// Deletes the records and fields that have been read.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn clear() {
    with_session(Session::clear);
}

/// Writes the names to which records refer, as the answer.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn names() {
    with(|module| module.output = module.session.as_mut().map(Session::names).unwrap_or_default());
}

/// Writes the fields of packets, as the answer.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn fields() {
    with(|module| module.output = module.session.as_mut().map(Session::fields).unwrap_or_default());
}

/// Ends the run and puts its result into the output; records are those of the packets still in transit.
#[expect(unsafe_code, reason = "exported by name; it takes and returns plain numbers")]
#[unsafe(no_mangle)]
pub extern "C" fn finish() {
    with(|module| module.output = module.session.as_mut().map(Session::finish).unwrap_or_default());
}
