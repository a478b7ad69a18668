//! Messages of the protocol. Each module defines the field offsets of its messages, views of payloads with a checked
//! length, and message types with checked fields.

pub mod arm;
pub mod axis_info;
pub mod command;
pub mod hello;
pub mod notice;
pub mod ping;
pub mod state;

pub use arm::{Arm, ArmView};
pub use axis_info::{AxisInfo, AxisInfoRequest, AxisInfoView, AxisKind, HomeFlags};
pub use command::{Command, CommandView};
pub use hello::{Capabilities, Hello, HelloAck, HelloAckView, HelloView};
pub use notice::{Fault, FaultCode, FaultView, Log};
pub use ping::{Ping, PingReply, PingReplyView};
pub use state::{AxisReading, State, StateView, Status};

use crate::{
    error::PayloadError,
    frame::{Frame, Kind, PAYLOAD_MAX},
};

/// A message whose fields have all been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Host: opens a session.
    Hello(Hello),
    /// Device: reports its identity and capabilities.
    HelloAck(HelloAck),
    /// Host: requests the properties of one axis.
    AxisInfoRequest(AxisInfoRequest),
    /// Device: reports the properties of one axis.
    AxisInfo(AxisInfo),
    /// Host: permits effort within limits.
    Arm(Arm),
    /// Device: confirms that it is armed and reports the limits in effect.
    ArmAck(Arm),
    /// Host: commands the newest efforts.
    Command(Command),
    /// Device: reports the positions of the axes.
    State(State),
    /// Host: ends all effort and disarms.
    Stop,
    /// Host: requests the time on the device's clock.
    Ping(Ping),
    /// Device: answers a ping with timestamps.
    PingReply(PingReply),
    /// Device: reports a fault or a rejected message.
    Fault(Fault),
    /// Device: sends text for the user.
    Log(Log<'a>),
}

impl<'a> Message<'a> {
    /// Parses a frame according to its kind. Real-time: bounded by the payload's length.
    pub fn parse(frame: &Frame<'a>) -> Result<Self, PayloadError> {
        let payload = frame.payload;
        match Kind::from_byte(frame.kind).ok_or(PayloadError::UnknownKind { kind: frame.kind })? {
            Kind::Hello => Hello::parse(payload).map(Self::Hello),
            Kind::HelloAck => HelloAck::parse(payload).map(Self::HelloAck),
            Kind::AxisInfoRequest => AxisInfoRequest::parse(payload).map(Self::AxisInfoRequest),
            Kind::AxisInfo => AxisInfo::parse(payload).map(Self::AxisInfo),
            Kind::Arm => Arm::parse(Kind::Arm, payload).map(Self::Arm),
            Kind::ArmAck => Arm::parse(Kind::ArmAck, payload).map(Self::ArmAck),
            Kind::Command => Command::parse(payload).map(Self::Command),
            Kind::State => State::parse(payload).map(Self::State),
            // Whatever its length: a device must obey it.
            Kind::Stop => Ok(Self::Stop),
            Kind::Ping => Ping::parse(payload).map(Self::Ping),
            Kind::PingReply => PingReply::parse(payload).map(Self::PingReply),
            Kind::Fault => Fault::parse(payload).map(Self::Fault),
            Kind::Log => Log::parse(payload).map(Self::Log),
        }
    }

    /// Returns the kind of this message.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Hello(_) => Kind::Hello,
            Self::HelloAck(_) => Kind::HelloAck,
            Self::AxisInfoRequest(_) => Kind::AxisInfoRequest,
            Self::AxisInfo(_) => Kind::AxisInfo,
            Self::Arm(_) => Kind::Arm,
            Self::ArmAck(_) => Kind::ArmAck,
            Self::Command(_) => Kind::Command,
            Self::State(_) => Kind::State,
            Self::Stop => Kind::Stop,
            Self::Ping(_) => Kind::Ping,
            Self::PingReply(_) => Kind::PingReply,
            Self::Fault(_) => Kind::Fault,
            Self::Log(_) => Kind::Log,
        }
    }

    /// Writes the payload and returns its length. Real-time: bounded by [`PAYLOAD_MAX`].
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        match self {
            Self::Hello(hello) => hello.emit(payload),
            Self::HelloAck(answer) => answer.emit(payload),
            Self::AxisInfoRequest(request) => request.emit(payload),
            Self::AxisInfo(info) => info.emit(payload),
            Self::Arm(arm) | Self::ArmAck(arm) => arm.emit(payload),
            Self::Command(command) => command.emit(payload),
            Self::State(state) => state.emit(payload),
            Self::Stop => 0,
            Self::Ping(ping) => ping.emit(payload),
            Self::PingReply(reply) => reply.emit(payload),
            Self::Fault(fault) => fault.emit(payload),
            Self::Log(log) => log.emit(payload),
        }
    }
}

/// Returns the payload if it has the given length, or an error that names `kind`.
fn checked(kind: Kind, payload: &[u8], length: usize) -> Result<&[u8], PayloadError> {
    if payload.len() == length { Ok(payload) } else { Err(PayloadError::Length { kind, found: payload.len() }) }
}
