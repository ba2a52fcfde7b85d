# The relay: a process that ptc executes in a pod when it can reach it only through the API server. It connects its stdin and
# stdout to the pod's launcher (launcher/launcher.ts), copies in both directions, and ends when either side does.
#
#     perl relay.pl
use strict;

# Also in protocol/launcher.ts.
my $SOCKET = 'ptc-launcher';

my ($AF_UNIX, $SOCK_STREAM) = (1, 1);
my $PIECE_BYTES = 64 * 1024;

socket my $launcher, $AF_UNIX, $SOCK_STREAM, 0 or die "no socket: $!\n";
connect $launcher, pack('S a*', $AF_UNIX, "\0$SOCKET") or die "the launcher takes no connection: $!\n";

for (;;) {
    my $ready = '';
    vec($ready, 0, 1) = 1;
    vec($ready, fileno $launcher, 1) = 1;
    next if select($ready, undef, undef, undef) <= 0;
    copy(\*STDIN, $launcher) if vec($ready, 0, 1);
    copy($launcher, \*STDOUT) if vec($ready, fileno $launcher, 1);
}

# Each side buffers no more than the other has granted, so a copy never waits for long (protocol/guard.ts).
sub copy {
    my ($from, $to) = @_;
    my $read = sysread($from, my $bytes, $PIECE_BYTES);
    exit 0 if !$read;
    while ($bytes ne '') {
        my $written = syswrite $to, $bytes;
        exit 0 if !defined $written;
        substr($bytes, 0, $written) = '';
    }
}
