//! Mechanisms that are opened for a launch. From here on their ends are of no type that anybody else knows: what is
//! compiled for each is in this crate.

use std::any::Any;
use std::io;
use std::net::IpAddr;

use crate::loops::Ends;
use mechanisms::network::{
    Call, ConnectVisitor, ConnectionKind, Cookie, EffectiveSettings, ListenVisitor, Listener, Wait,
};
use mechanisms::{Endpoint, OpenError, OpenSpec, Opened, Residue, Visitor};

/// An end of a type that only its worker knows.
type AnyEnd = Box<dyn Any>;
/// Gives ends their type again.
type Collect = fn(&mut dyn Iterator<Item = AnyEnd>) -> Box<dyn Ends>;

/// What has been opened so far. Every pair must be of the same variant.
pub struct Pairs {
    /// How many connections each initiator has.
    connections: usize,
    /// The first initiator's ends, then those of the next.
    initiators: Vec<AnyEnd>,
    responder: Vec<AnyEnd>,
    /// Collects ends of the type that all have.
    collect: Option<Collect>,
    effective_settings: EffectiveSettings,
    residues: Vec<Residue>,
}

/// What a launch has of its pairs.
pub struct Open {
    /// Of each initiator its ends.
    pub initiators: Vec<Box<dyn Ends>>,
    pub responder: Option<Box<dyn Ends>>,
    /// What the kernel granted.
    pub effective_settings: EffectiveSettings,
    /// What must be removed once the workers are gone.
    pub residues: Vec<Residue>,
}

fn collect<E: Endpoint + 'static>(ends: &mut dyn Iterator<Item = AnyEnd>) -> Box<dyn Ends> {
    let own = |end: AnyEnd| *end.downcast::<E>().expect("a variant has one type of end");
    Box::new(ends.map(own).collect::<Vec<E>>())
}

impl Pairs {
    /// None yet, of initiators that have so many `connections` each.
    pub fn of(connections: usize) -> Pairs {
        let (initiators, responder, residues) = (Vec::new(), Vec::new(), Vec::new());
        let effective_settings = EffectiveSettings::default();
        Pairs { connections, initiators, responder, collect: None, effective_settings, residues }
    }

    /// Opens one more of the mechanism called `name`, whose ends are asked without waiting or not.
    ///
    /// # Errors
    /// It can't carry what is asked, or isn't to be had here.
    pub fn open(
        &mut self,
        name: &str,
        spec: &OpenSpec,
        nonblocking: bool,
    ) -> Result<(), OpenError> {
        match nonblocking {
            true => mechanisms::open_nonblocking(name, spec, self),
            false => mechanisms::open(name, spec, self),
        }
    }

    /// What a launch has of them.
    pub fn opened(self) -> Open {
        let Pairs { connections, initiators, responder, collect, effective_settings, residues } =
            self;
        let mut ends = initiators.into_iter();
        let mut initiators = Vec::new();
        while let Some(collect) = collect.filter(|_| ends.len() > 0) {
            initiators.push(collect(&mut ends.by_ref().take(connections)));
        }
        let responder = collect.map(|collect| collect(&mut responder.into_iter()));
        Open { initiators, responder, effective_settings, residues }
    }
}

impl Visitor for &mut Pairs {
    type Output = ();

    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) {
        self.initiators.push(Box::new(opened.initiator));
        self.responder.push(Box::new(opened.responder));
        self.collect = Some(collect::<E>);
        self.effective_settings = opened.effective_settings; // the same for each
        self.residues.push(opened.residue);
    }
}

/// A connected end, and what the kernel granted.
pub type Connected = (Box<dyn Ends>, EffectiveSettings);

struct Connecting;

impl ConnectVisitor for Connecting {
    type Output = Connected;

    fn visit<E: Endpoint + 'static>(self, end: E, granted: EffectiveSettings) -> Connected {
        (Box::new(vec![end]), granted)
    }
}

/// The near end of the mechanism called `name`, connected to another host.
///
/// # Errors
/// It can't carry what is asked, doesn't go there, or nobody answers.
pub fn connect(name: &str, spec: &OpenSpec, call: &Call) -> Result<Connected, OpenError> {
    mechanisms::connect(name, spec, call, Connecting)
}

/// Any [`Listener`].
pub trait Listens: Send {
    /// See [`Listener::port`].
    fn port(&self) -> u16;
    /// See [`Listener::accept`].
    ///
    /// # Errors
    /// As there.
    fn accept(self: Box<Self>, wait: &Wait) -> Result<Connected, OpenError>;
    /// See [`Listener::accept_and_close`].
    ///
    /// # Errors
    /// As there.
    fn accept_and_close(&mut self) -> io::Result<ConnectionKind>;
}

impl<L: Listener> Listens for L {
    fn port(&self) -> u16 {
        Listener::port(self)
    }

    fn accept(self: Box<Self>, wait: &Wait) -> Result<Connected, OpenError> {
        let (end, granted) = Listener::accept(*self, wait)?;
        Ok((Box::new(vec![end]), granted))
    }

    fn accept_and_close(&mut self) -> io::Result<ConnectionKind> {
        Listener::accept_and_close(self)
    }
}

struct Listening;

impl ListenVisitor for Listening {
    type Output = Box<dyn Listens>;

    fn visit<L: Listener>(self, listener: L) -> Box<dyn Listens> {
        Box::new(listener)
    }
}

/// The far side of the mechanism called `name`, which waits for one partner.
///
/// # Errors
/// It can't carry what is asked, or not over a network, or the address can't be had.
pub fn listen(
    name: &str,
    spec: &OpenSpec,
    address: IpAddr,
    cookie: Cookie,
) -> Result<Box<dyn Listens>, OpenError> {
    mechanisms::listen(name, spec, address, cookie, Listening)
}

/// What has no connection of its own, where set-ups are timed. The far side's accepts and closes a connection with each
/// `recv`, and fills the message with its kind; all else fails with `NotConnected`.
struct SetUpOnly(Option<Box<dyn Listens>>);

/// The near side where set-ups are timed, and the far side, which accepts them by `listener`.
pub fn set_up_only(listener: Option<Box<dyn Listens>>) -> Box<dyn Ends> {
    Box::new(vec![SetUpOnly(listener)])
}

impl Endpoint for SetUpOnly {
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let listener = self.0.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        message.fill(listener.accept_and_close()? as u8);
        Ok(())
    }
}
