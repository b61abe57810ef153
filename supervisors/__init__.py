"""OTP for Python: actors, supervisors, links and monitors on pykka and anyio."""

from supervisors.behaviours import groups, root as _root
from supervisors.behaviours.dynamic_supervisor import DynamicSupervisor, DynamicSupervisorRef
from supervisors.behaviours.gen_server import Caller, GenServer
from supervisors.behaviours.registry import Registry, RegistryRef, Via
from supervisors.behaviours.supervisor import Supervisor, SupervisorRef
from supervisors.machines.mailbox import Bound
from supervisors.runtime.actor import Actor
from supervisors.runtime.future import Future
from supervisors.runtime.node import Node, TimerHandle, current_node, default_node
from supervisors.runtime.process import Alias, Monitor
from supervisors.runtime.processes import (
    alias,
    call,
    cancel_timer,
    cast,
    demonitor,
    exit,
    exit_self,
    is_alive,
    link,
    mailbox,
    monitor,
    receive,
    register,
    self_,
    send,
    send_after,
    spawn,
    spawn_link,
    spawn_monitor,
    start_timer,
    stop,
    trap_exit,
    unalias,
    unlink,
    unregister,
    when_down,
    whereis,
)
from supervisors.runtime.ref import ActorRef, Ref
from supervisors.runtime.reports import subscribe_reports
from supervisors.runtime.sight import (
    ProcessInfo,
    TreeNode,
    get_state,
    info,
    replace_state,
    resume,
    suspend,
    trace,
    tree,
)
from supervisors.words.directives import NO_REPLY, Ignore, NoReply, Ok, Reply, Stop
from supervisors.words.errors import (
    AlreadyPresent,
    AlreadyStarted,
    CallExit,
    CallingSelf,
    CallTimeout,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
    ExitProcess,
    MailboxFull,
    MaxChildren,
    NameTaken,
    NodeStopped,
    NoProcess,
    NoSuchName,
    NotAProcess,
    ProcessDead,
    ReceiveTimeout,
    SpecError,
    StartError,
    StartFailed,
    StartIgnored,
    SupervisorsError,
    WouldBlock,
)
from supervisors.words.reasons import (
    KILL,
    KILLED,
    NOCONNECTION,
    NOPROC,
    NORMAL,
    SHUTDOWN,
    BadReturn,
    Custom,
    Error,
    ExitReason,
    FailedToStartChild,
    Kill,
    Killed,
    NoConnection,
    NoProc,
    Normal,
    Shutdown,
    as_reason,
)
from supervisors.words.reports import (
    AbandonedReport,
    BusyReport,
    CrashReport,
    ProgressReport,
    Report,
    SupervisorReport,
    TerminateReport,
)
from supervisors.words.signals import TIMEOUT, Down, Exit, TimerFired
from supervisors.words.specs import BRUTAL_KILL, Backoff, Child, ChildSpec, Count
