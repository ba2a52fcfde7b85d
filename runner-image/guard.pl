# The guard: the first process of a sandbox, which starts the runner. It ends, and the sandbox with it, when the runner has
# ended, when its stdin ends (the engine closes that when ptc has ended), or after a number of seconds.
#
#     perl guard.pl SECONDS [--attached | --direct | --sockets=FOLDER] [--stdio] [--alone OPTION...] COMMAND [ARGUMENT...]
#
# On stdin ptc sends `p` to pause all processes of the program, `k` to pause the runner and end all other processes, as between
# two programs of a session, and `r` to resume. The guard ignores anything else. It answers a `k` with a `k` on stdout when it is
# done, after all that was written until then. The first `k` comes before the first program of a session. After each later `k`, the runner must have the same threads as
# then, and no code of a program, or the sandbox ends: the effects of such a thread or code could not be separated from the next
# program. The exit code is the runner's, 128 + signal if a signal ended it, or one of the codes below.
#
# The runner has a connected socket for its channel to ptc, whose number is its last argument (`--channel=N`). With --sockets, it
# leads to a socket of ptc in that folder, and so do the runner's stdout and stderr. ptc then gets the output at once, without two
# copies by the engine.
#
# With --attached, the channel uses the guard's own stdin and stdout, for engines that cannot mount a socket of ptc's host. The
# runner has one end of a pair of sockets, and pipes for stdout and stderr. The guard relays between them and ptc, in frames of a
# letter, a number and, for some letters, that number of bytes (protocol/guard.ts). On the channel, each side sends no more than
# the other has granted. This bounds all buffers, and the program's output, ptc's commands and the channel never block each other.
#
# With --direct, the guard's stdin is the channel, which the runner gets unchanged, and its stdout is a socket over which the guard
# and ptc exchange the same frames except those of the channel. A sandbox that is restored from a snapshot has only these two, and
# in a pod the launcher is in ptc's place. ptc then sends `s` to start the sandbox's seconds. The guard's last frame is an `x` with
# the exit code, so that ptc can end the sandbox without waiting for the kernel of the sandbox to clear up. In both modes, ptc sends
# `b` now and then, which the guard answers with a `b`.
#
# With --stdio, the runner has two more sockets, whose numbers are the arguments `--stdin=N` and `--stdout=N`. The runner passes them
# to the server that it starts, so that the server's messages pass no other process. With --sockets they lead to sockets of ptc in
# that folder, and with --direct they are what the guard has as 3 and 4.
#
# With --alone, the guard itself builds the walls that an engine builds elsewhere, because it starts with a network, for example
# in a pod. The runner gets an empty network namespace, the resource limits of each `--limit=NAME:NUMBER`, and a folder in memory
# for each `--scratch=PATH:MEGABYTES`. It cannot see the file or folder of each `--hide=PATH`. If one of these is impossible, the
# guard starts no runner.
#
# The program is in a separate process namespace, where it cannot name the guard, because gVisor lets a process stop or end the
# first one of its namespace. Without namespaces, the kernel itself protects its first process.
#
# The sandbox waits for the guard to start, so the guard loads no modules, not even `warnings`.
use strict;

# Also in protocol/guard.ts.
my ($UNATTENDED, $OVERDUE, $UNHELD, $SELF_KILLED, $LEFT_THREAD, $NATIVE_CODE) = (120, 121, 122, 123, 124, 125);

my ($SIGKILL, $SIGCONT, $SIGSTOP) = (9, 18, 19);
my $WNOHANG = 1;
my $O_WRONLY = 1;
my ($CLONE_NEWNS, $CLONE_NEWUSER, $CLONE_NEWPID, $CLONE_NEWNET) = (0x00020000, 0x10000000, 0x20000000, 0x40000000);
my ($MS_RDONLY, $MS_NOSUID_NODEV, $MS_NOSUID_NODEV_NOEXEC, $MS_BIND) = (1, 2 | 4, 2 | 4 | 8, 4096);
my $CAPABILITIES_V3 = 0x20080522;
my ($PR_SET_DUMPABLE, $PR_CAPBSET_DROP) = (4, 24);
# Numbers of unshare(2), prctl(2), mount(2), capset(2) and setrlimit(2), by the machine in the header of an ELF file: x86-64 and
# AArch64.
my %CALLS = (62 => [272, 157, 165, 126, 160], 183 => [97, 167, 40, 91, 164]);
my %RESOURCES = (core => 4, nproc => 6, nofile => 7);
# The most rounds of stopping all processes until all have stopped, because they may start others meanwhile. Also the most rounds
# of waiting until ended processes are gone.
my $MAX_ROUNDS = 200;
# The same for threads of the runner that are about to end, which requires that the runner runs.
my $MAX_THREAD_ROUNDS = 100;

# Also in protocol/guard.ts: the letters of frames, and the bytes of the channel that either side may send without a grant.
my ($DATA, $GRANT, $END, $STDOUT, $STDERR, $EXITED, $PAUSE, $CLEAR, $RESUME, $START, $BEAT) = qw(d w e 1 2 x p k r s b);
my $WINDOW = 1024 * 1024;
my $HEADER_BYTES = 5;
my $PIECE_BYTES = 64 * 1024;
# The most bytes that wait for ptc. While there are more, the guard does not read the program's output and calls.
my $MAX_WAITING_BYTES = 256 * 1024;
# The bytes that a runner can leave in a pipe or socket when it ends, and how long ptc may take to read them.
my $MAX_LEFT_BYTES = 1024 * 1024;
my $READ_PATIENCE_S = 10;
# The capacity of the pipes for the program's output, so that a program that prints much seldom waits.
my $PIPE_BYTES = 1024 * 1024;
my ($AF_UNIX, $SOCK_STREAM, $F_SETFL, $O_NONBLOCK, $F_SETPIPE_SZ) = (1, 1, 4, 2048, 1031);
my ($EINTR, $EAGAIN) = (4, 11);

# Also in protocol/runners.ts: the sockets for the runner's channel, stdout and stderr, and those for the stdin and stdout of a server.
my @SOCKETS = qw(broker.sock stdout.sock stderr.sock);
my @STDIO_SOCKETS = qw(server-stdin.sock server-stdout.sock);
# Also in protocol/guard.ts: what these are with --direct.
my @STDIO_FILES = (3, 4);

my ($seconds, @command) = @ARGV;
my $attached = $command[0] eq '--attached' && shift @command;
my $direct = $command[0] eq '--direct' && shift @command;
my $framed = $attached || $direct;
my ($sockets) = $command[0] =~ /^--sockets=(.+)/s;
shift @command if defined $sockets;
my $stdio = $command[0] eq '--stdio' && shift @command;
my $alone = $command[0] eq '--alone' && shift @command;
my (@limits, @scratch, @hidden);
if ($alone) {
    for (;; shift @command) {
        if    ($command[0] =~ /^--limit=(\w+):(\d+)$/)   { push @limits,  [$1, $2] }
        elsif ($command[0] =~ /^--scratch=(.+):(\d+)$/s) { push @scratch, [$1, $2] }
        elsif ($command[0] =~ /^--hide=(.+)$/s)          { push @hidden,  $1 }
        else                                             { last }
    }
}
my $deadline = time() + $seconds;
my ($unshare, $prctl, $mount, $capset, $setrlimit) = @{ $CALLS{ machine() } // [] };

my ($uid, $gid) = ($<, (split ' ', $()[0]);
# A process that could read the guard's stdin could intercept ptc's commands.
syscall($prctl, $PR_SET_DUMPABLE, 0, 0, 0, 0) if $prctl;
leave_pod() if $alone;
# gVisor treats a mount namespace like a changed root, in which no further user namespace is possible.
my $apart = $unshare && syscall($unshare, $alone ? $CLONE_NEWPID : $CLONE_NEWUSER | $CLONE_NEWPID) == 0;
if    ($apart) { keep_ids() if !$alone }
elsif ($alone) { die "the program cannot be kept from the guard, because there are no namespaces: $!\n" }
my ($channel, $out, $err, $runners_channel, $runners_out, $runners_err);
if ($framed) {
    # The runner inherits the files that are opened here.
    local $^F = 1024;
    if   ($attached) { socketpair($channel, $runners_channel, $AF_UNIX, $SOCK_STREAM, 0) or die "no channel: $!\n" }
    else             { open($runners_channel, '+<&', \*STDIN) or die "no channel: $!\n" }
    pipe($out, $runners_out) && pipe($err, $runners_err) or die "no output: $!\n";
}
# The engine asks all containers to end before it ends itself. The program cannot do so, because it cannot name the guard.
$SIG{TERM} = sub { exit $UNATTENDED } if $apart;
# The end of the runner interrupts the wait for stdin.
$SIG{CHLD} = sub { };
my $runner = fork() // die "the runner cannot be started: $!\n";
run() if $runner == 0;
# The guard no longer needs capabilities over the program's namespaces.
my ($header, $none) = (pack('LL', $CAPABILITIES_V3, 0), "\0" x 24);
syscall($capset, $header, $none) if $apart;
open STDERR, '>', '/dev/null';
my ($from_host, $to_host, $to_runner, $granted, $delivered) = ('', '', '', $WINDOW, 0);
if ($framed) {
    $SIG{PIPE} = 'IGNORE';
    close $_ for $runners_channel, $runners_out, $runners_err;
    close_stdio() if $stdio;
    # Only the runner has the channel, because its end is visible only when no other process has it open.
    open STDIN, '<&', \*STDOUT if $direct;
    fcntl($_, $F_SETFL, $O_NONBLOCK) for grep { defined } *STDIN, *STDOUT, $channel, $out, $err;
    fcntl($_, $F_SETPIPE_SZ, $PIPE_BYTES) for $out, $err;
}

# The runner's state before the first program of a session: its threads, and its executable memory that is not from the image.
my ($threads, $code);

my $held = 0;
for (;;) {
    # Processes that keep waking each other may have been missed.
    kill $SIGSTOP, -1 if $held;
    my ($ready, $writable) = ('', '');
    vec($ready, 0, 1) = 1;
    watch(\$ready, \$writable) if $framed;
    # Wakes up once a second, because the runner may end between the check and the wait.
    my $found = select($ready, $writable, undef, 1);
    if (waitpid($runner, $WNOHANG) == $runner) {
        my $code = exit_code($?);
        pass_on_the_rest() if $framed;
        leave($code);
    }
    if ($found > 0) {
        listen_to_host() if vec($ready, 0, 1);
        relay($ready) if $framed;
    }
    # After ptc's commands, because one of them starts the time.
    leave($OVERDUE) if time() >= $deadline;
}

sub listen_to_host {
    my $read = sysread(STDIN, my $said, $PIECE_BYTES);
    return if !defined $read;
    leave($UNATTENDED) if $read == 0;
    if (!$framed) {
        obey($_) for split //, $said;
        return;
    }
    $from_host .= $said;
    while (length $from_host >= $HEADER_BYTES) {
        my ($letter, $number) = unpack 'aN', $from_host;
        my $length = $HEADER_BYTES + ($letter eq $DATA ? $number : 0);
        last if length $from_host < $length;
        $to_runner .= substr $from_host, $HEADER_BYTES, $number if $letter eq $DATA;
        $granted += $number if $letter eq $GRANT;
        substr($from_host, 0, $length) = '';
        obey($letter);
    }
}

sub obey {
    if ($_[0] eq $PAUSE) {
        hold();
        $held = 1;
    }
    elsif ($_[0] eq $CLEAR) {
        end_others();
        compare_runner();
        $held = 1;
        # ptc waits for this before it sends the next program, or ends the sandbox. What the program wrote comes first.
        if ($framed) {
            take_left(\&take_out, \&take_err);
            $to_host .= pack 'aN', $CLEAR, 0;
        }
        else { syswrite STDOUT, $CLEAR }
    }
    elsif ($_[0] eq $RESUME) {
        kill $SIGCONT, -1;
        $held = 0;
    }
    elsif ($_[0] eq $START)           { $deadline = time() + $seconds }
    elsif ($_[0] eq $BEAT && $framed) { $to_host .= pack 'aN', $BEAT, 0 }
}

# Ends all processes except the runner, and pauses the runner.
sub end_others {
    # Paused processes start no others.
    hold();
    my @others = grep { /^[0-9]+$/ && $_ != $$ && $_ != $runner } names('/proc');
    kill $SIGKILL, @others;
    # On a busy machine they may live for another moment, in which the next program would see them.
    await(sub { !grep { alive($_) } @others });
}

# Ends the sandbox if the runner has more threads or code than before the first program.
sub compare_runner {
    if (!$threads) {
        ($threads, $code) = map { { map { $_ => 1 } @$_ } } [threads_of_runner()], [code_of_runner()];
        return;
    }
    leave($NATIVE_CODE) if says_native() || grep { !$code->{$_} } code_of_runner();
    for (1 .. $MAX_THREAD_ROUNDS) {
        return if !grep { !$threads->{$_} } threads_of_runner();
        kill $SIGCONT, $runner;
        select(undef, undef, undef, 0.01);
        end_others();
    }
    leave($LEFT_THREAD);
}

sub threads_of_runner { return grep { /^[0-9]+$/ } names("/proc/$runner/task") }

# The Python runner reports native code by the name of its process (ptc_runner/program_run.py).
sub says_native { return (read_file("/proc/$runner/comm") // '') eq "ptc-native\n" }

# Executable memory that is not a file of the image.
sub code_of_runner {
    my $maps = read_file("/proc/$runner/maps") // '';
    my @executed = map { /^\S+ ..x\S* \S+ \S+ \S+\s*(.*)$/ ? $1 : () } split /\n/, $maps;
    return grep { !m{^/} || m{^/(?:workspace|tmp|dev)/|memfd|\(deleted\)$} }
        grep { !/^\[v\w+\]$/ } @executed;
}

# Adds the handles that the relay waits for: writable ones with waiting bytes, and readable ones with room for their bytes.
sub watch {
    my ($ready, $writable) = @_;
    vec($$writable, fileno STDOUT, 1) = 1 if $to_host ne '';
    vec($$writable, fileno $channel, 1) = 1 if $channel && $to_runner ne '';
    return if length $to_host >= $MAX_WAITING_BYTES;
    vec($$ready, fileno $channel, 1) = 1 if $channel && $granted > 0;
    for my $pipe ($out, $err) {
        vec($$ready, fileno $pipe, 1) = 1 if $pipe;
    }
}

# Reads available bytes, and writes as much as possible.
sub relay {
    my ($ready) = @_;
    deliver() if $to_runner ne '';
    take_out() if $out && vec($ready, fileno $out, 1);
    take_err() if $err && vec($ready, fileno $err, 1);
    take_channel() if $channel && vec($ready, fileno $channel, 1);
    send_to_host();
}

sub take_out {
    my $read = $out ? take($STDOUT, $out) : 0;
    undef $out if $read == 0;
    return $read;
}

sub take_err {
    my $read = $err ? take($STDERR, $err) : 0;
    undef $err if $read == 0;
    return $read;
}

sub take_channel {
    return 0 if !$channel || $granted == 0;
    my $read = take($DATA, $channel, $granted < $PIECE_BYTES ? $granted : $PIECE_BYTES);
    if ($read == 0) {
        undef $channel;
        $to_host .= pack 'aN', $END, 0;
    }
    $granted -= $read if $read > 0;
    return $read;
}

# Reads bytes from the runner. Returns their number, 0 at the end, or -1 if there are none now.
sub take {
    my ($letter, $handle, $most) = @_;
    my $read = sysread($handle, my $bytes, $most // $MAX_WAITING_BYTES) // return is_later() ? -1 : 0;
    $to_host .= pack('aN', $letter, $read) . $bytes if $read > 0;
    return $read;
}

sub is_later { return $! == $EAGAIN || $! == $EINTR }

sub deliver {
    my $written = $channel ? syswrite $channel, $to_runner : length $to_runner;
    return if !defined $written && is_later();
    # Nobody reads the channel any more.
    $written //= length $to_runner;
    substr($to_runner, 0, $written) = '';
    $delivered += $written;
    return if $delivered < $WINDOW / 4;
    $to_host .= pack 'aN', $GRANT, $delivered;
    $delivered = 0;
}

sub send_to_host {
    my $written = $to_host eq '' ? undef : syswrite STDOUT, $to_host;
    substr($to_host, 0, $written) = '' if defined $written;
}

# Closes the guard's own copies, so that ptc sees when the server closes them.
sub close_stdio {
    for my $number (@STDIO_FILES) {
        open my $file, '+<&=', $number or next;
        close $file;
    }
}

# Reads all that is left in pipes and the channel, each by its own function.
sub take_left {
    for my $take (@_) {
        my $most = length($to_host) + $MAX_LEFT_BYTES;
        1 while length $to_host < $most && $take->() > 0;
    }
}

# Passes the last output of an ended runner to ptc, as long as ptc reads it.
sub pass_on_the_rest {
    take_left(\&take_out, \&take_err, \&take_channel);
    my $end = time() + $READ_PATIENCE_S;
    while ($to_host ne '' && time() < $end) {
        my $writable = '';
        vec($writable, fileno STDOUT, 1) = 1;
        send_to_host() if select(undef, $writable, undef, 1) > 0;
    }
}

sub run {
    $SIG{CHLD} = 'DEFAULT';
    if ($apart) {
        # Shows the program its own processes, but not the guard.
        if (syscall($unshare, $CLONE_NEWNS) == 0) {
            my ($source, $target, $type) = ('proc', '/proc', 'proc');
            syscall($mount, $source, $target, $type, $MS_NOSUID_NODEV_NOEXEC, 0);
            wall_off() if $alone;
        }
        elsif ($alone) { die "no namespace of mounts: $!\n" }
        for my $capability (0 .. 63) {
            last if syscall($prctl, $PR_CAPBSET_DROP, $capability, 0, 0, 0) != 0;
        }
    }
    open STDIN, '<', '/dev/null';
    my @stdio;
    if (defined $sockets) {
        # The runner inherits the files that are opened here.
        local $^F = 1024;
        ($runners_channel, $runners_out, $runners_err) = map { connected("$sockets/$_") } @SOCKETS;
        @stdio = map { connected("$sockets/$_") } @STDIO_SOCKETS if $stdio;
    }
    if ($stdio) {
        my ($in, $out) = @stdio ? map { fileno $_ } @stdio : @STDIO_FILES;
        push @command, "--stdin=$in", "--stdout=$out";
    }
    if ($runners_channel) {
        open STDOUT, '>&', $runners_out;
        open STDERR, '>&', $runners_err;
        close $_ for grep { defined } $channel, $out, $err, $runners_out, $runners_err;
        push @command, '--channel=' . fileno $runners_channel;
    }
    exec { $command[0] } @command or print STDERR "$command[0]: $!\n";
    exit 127;
}

# Continues in a new process, in namespaces without a network and without the process that started the guard, which would otherwise
# be stopped with the program. This process only waits for the new one.
sub leave_pod {
    $unshare && syscall($unshare, $CLONE_NEWUSER | $CLONE_NEWPID | $CLONE_NEWNET | $CLONE_NEWNS) == 0
        or die "the program cannot be kept from the network, because there are no namespaces: $!\n";
    keep_ids();
    my $inner = fork() // die "the guard cannot be started: $!\n";
    if ($inner == 0) {
        mount_or_die('proc', '/proc', 'proc', $MS_NOSUID_NODEV_NOEXEC, '');
        return;
    }
    # The end of the channel, or of the guard, is visible only when no other process has it open.
    close STDIN;
    close STDOUT;
    waitpid $inner, 0;
    exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

# Maps the user and group to themselves in a new user namespace, which knows no others.
sub keep_ids {
    put('/proc/self/setgroups', 'deny');
    put('/proc/self/uid_map', "$uid $uid 1");
    put('/proc/self/gid_map', "$gid $gid 1");
}

# Builds what --alone asks for, in the namespaces of the runner.
sub wall_off {
    my $folder = readlink '/proc/self/cwd';
    for my $path (grep { -e } @hidden) {
        if (-d $path) { mount_or_die('tmpfs', $path, 'tmpfs', $MS_NOSUID_NODEV_NOEXEC | $MS_RDONLY, 'size=4k,mode=0555') }
        else          { mount_or_die('/dev/null', $path, 'none', $MS_BIND, '') }
    }
    mount_or_die('tmpfs', $_->[0], 'tmpfs', $MS_NOSUID_NODEV, "size=$_->[1]m,mode=1777") for @scratch;
    for (@limits) {
        my ($name, $limit) = @$_;
        my $pair = pack 'QQ', $limit, $limit;
        syscall($setrlimit, $RESOURCES{$name}, $pair) == 0 or die "the limit $name cannot be set: $!\n";
    }
    # A new mount covers the previous working directory.
    chdir $folder or die "$folder: $!\n";
}

sub mount_or_die {
    my ($source, $target, $type, $flags, $data) = @_;
    syscall($mount, $source, $target, $type, $flags, $data) == 0 or die "$target cannot be mounted over: $!\n";
}

sub connected {
    my ($path) = @_;
    my $address = pack 'S a*', $AF_UNIX, "$path\0";
    socket my $socket, $AF_UNIX, $SOCK_STREAM, 0 or die "no socket: $!\n";
    connect $socket, $address or die "$path: $!\n";
    return $socket;
}

# Stops all processes except this one, and waits until they have stopped.
sub hold {
    await(sub {
        kill $SIGSTOP, -1;
        return !grep { state($_) !~ /[TtZX]/ } grep { /^[0-9]+$/ && $_ != $$ } names('/proc');
    });
}

# Repeats until the condition holds. Ends the sandbox if it never does.
sub await {
    my ($is_so) = @_;
    for (1 .. $MAX_ROUNDS) {
        return if $is_so->();
        select(undef, undef, undef, 0.01);
    }
    leave($UNHELD);
}

sub alive { return state($_[0]) !~ /[ZX]/ }

# The letter of a process's state, or that of a dead process if there is none.
sub state {
    my ($stat) = read_file("/proc/$_[0]/stat");
    # The name before the state may contain anything, even parentheses.
    return defined $stat && $stat =~ /.*\) ([A-Z])/s ? $1 : 'X';
}

# Ends the guard, and the sandbox with it.
sub leave {
    my ($code) = @_;
    if ($direct) {
        $to_host .= pack 'aN', $EXITED, $code;
        send_to_host();
    }
    exit $code;
}

# The exit code of the sandbox for the status of the runner.
sub exit_code {
    my ($status) = @_;
    my $signal = $status & 127;
    # The memory limit would end the guard too, so this signal came from the program.
    return $SELF_KILLED if $signal == $SIGKILL;
    return $signal ? 128 + $signal : $status >> 8;
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
