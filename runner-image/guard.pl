# The guard: the first process of a sandbox, which starts the runner and outlives nothing. It ends, and the sandbox with
# it, when the runner has ended, when its stdin ends (the engine closes that when ptc is gone), or after a number of seconds.
#
#     perl guard.pl SECONDS COMMAND [ARGUMENT...]
#
# On stdin ptc says `p` to hold every process of the program where it is, and `r` to let them go on; anything else is
# passed over. The exit code is the runner's, 128 + signal where a signal ended it, or one of the codes below.
#
# The program is in a process namespace of its own, so that it has no name for the guard: gVisor lets a process stop or
# end the first one of its namespace. Where there are no namespaces to be had, the kernel itself protects its first process.
#
# A sandbox waits for it to start: it loads no modules, `warnings` among them.
use strict;

# Also in protocol/guard.ts.
my ($UNATTENDED, $OVERDUE, $UNHELD, $SELF_KILLED) = (120, 121, 122, 123);

my ($SIGKILL, $SIGCONT, $SIGSTOP) = (9, 18, 19);
my $WNOHANG = 1;
my $O_WRONLY = 1;
my ($CLONE_NEWNS, $CLONE_NEWUSER, $CLONE_NEWPID) = (0x00020000, 0x10000000, 0x20000000);
my $MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8;
my $CAPABILITIES_V3 = 0x20080522;
my ($PR_SET_DUMPABLE, $PR_CAPBSET_DROP) = (4, 24);
# Numbers of unshare(2), prctl(2), mount(2) and capset(2), by machine as in the header of an ELF file: x86-64 and AArch64.
my %CALLS = (62 => [272, 157, 165, 126], 183 => [97, 167, 40, 91]);
# Rounds in which everything is told to stop, until all has: what is told may be starting others meanwhile.
my $MAX_ROUNDS = 200;

my ($seconds, @command) = @ARGV;
my $deadline = time() + $seconds;
my ($unshare, $prctl, $mount, $capset) = @{ $CALLS{ machine() } // [] };

my ($uid, $gid) = ($<, (split ' ', $()[0]);
# What could read the guard's stdin could keep from it what ptc says there.
syscall($prctl, $PR_SET_DUMPABLE, 0, 0, 0, 0) if $prctl;
my $apart = $unshare && syscall($unshare, $CLONE_NEWUSER | $CLONE_NEWPID) == 0;
if ($apart) {
    put('/proc/self/setgroups', 'deny');
    put('/proc/self/uid_map', "$uid $uid 1");
    put('/proc/self/gid_map', "$gid $gid 1");
}
# A runner that ends interrupts the wait for stdin.
$SIG{CHLD} = sub { };
my $runner = fork() // die "the runner cannot be started: $!\n";
run() if $runner == 0;
# It needs no right over the program's namespaces any more.
my ($header, $none) = (pack('LL', $CAPABILITIES_V3, 0), "\0" x 24);
syscall($capset, $header, $none) if $apart;
open STDOUT, '>', '/dev/null';
open STDERR, '>', '/dev/null';

my $held = 0;
while (time() < $deadline) {
    # Processes that take turns at waking each other may have been missed.
    kill $SIGSTOP, -1 if $held;
    my $ready = '';
    vec($ready, 0, 1) = 1;
    # Wakes up once a second: a runner may end between the look and the wait.
    my $found = select($ready, undef, undef, 1);
    leave($?) if waitpid($runner, $WNOHANG) == $runner;
    next if $found <= 0;
    my $read = sysread(STDIN, my $said, 4096);
    next if !defined $read;
    exit $UNATTENDED if $read == 0;
    for (split //, $said) {
        if ($_ eq 'p') {
            hold();
            $held = 1;
        }
        elsif ($_ eq 'r') {
            kill $SIGCONT, -1;
            $held = 0;
        }
    }
}
exit $OVERDUE;

sub run {
    $SIG{CHLD} = 'DEFAULT';
    if ($apart) {
        # Shows the program its own processes and nothing of the guard.
        if (syscall($unshare, $CLONE_NEWNS) == 0) {
            my ($source, $target, $type) = ('proc', '/proc', 'proc');
            syscall($mount, $source, $target, $type, $MS_NOSUID_NODEV_NOEXEC, 0);
        }
        for my $capability (0 .. 63) {
            last if syscall($prctl, $PR_CAPBSET_DROP, $capability, 0, 0, 0) != 0;
        }
    }
    open STDIN, '<', '/dev/null';
    exec { $command[0] } @command or print STDERR "$command[0]: $!\n";
    exit 127;
}

# Stops all processes but this one, and sees that they have.
sub hold {
    for (1 .. $MAX_ROUNDS) {
        kill $SIGSTOP, -1;
        return if !grep { running($_) } grep { /^[0-9]+$/ && $_ != $$ } names('/proc');
        select(undef, undef, undef, 0.01);
    }
    exit $UNHELD;
}

sub running {
    my ($stat) = read_file("/proc/$_[0]/stat");
    # The name in front of the state may hold anything, parentheses too.
    return defined $stat && $stat =~ /.*\) ([A-Z])/s && $1 !~ /[TtZX]/;
}

sub leave {
    my ($status) = @_;
    my $signal = $status & 127;
    # The memory's limit ends the guard too: this signal came from the program.
    exit $SELF_KILLED if $signal == $SIGKILL;
    exit($signal ? 128 + $signal : $status >> 8);
}

sub machine {
    open my $file, '<:raw', '/proc/self/exe' or return 0;
    read $file, my $header, 20;
    return unpack 'x18 v', $header;
}

sub names {
    opendir my $folder, $_[0] or return ();
    return readdir $folder;
}

sub read_file {
    open my $file, '<', $_[0] or return undef;
    local $/;
    return readline $file;
}

sub put {
    my ($path, $text) = @_;
    sysopen my $file, $path, $O_WRONLY or return;
    syswrite $file, $text;
}
