import { DROP_DIRECTFS, REGISTER_GVISOR } from "../setup-advice.ts";

/**
 * The walls around a program. Each is one or two settings of the container's profile (../docker/container-profile.ts), as
 * seen from inside, but for `sentry`, which is a flag of the runtime. When a required wall is known not to hold, no program is run.
 */
export interface Wall {
  required: boolean;
  /** What a program cannot do while the wall holds, in words that follow "a program cannot". */
  keeps: string;
  /** What to do when the wall does not hold. */
  advice: string;
}

const ENGINE =
  "use the Docker engine itself, in a version from 20.10 on, and not something that stands in for it";
const GVISOR = `use gVisor's runsc as \`sandbox.runtime\`: ${REGISTER_GVISOR}`;
const CGROUPS =
  "let the engine set cgroups: no `--ignore-cgroups` among runsc's flags, and no rootless engine without delegation";
const IMAGE = "run `ptc image build`";

export const WALLS = {
  kernel: { required: true, keeps: "talk to the host's kernel: gVisor's is in between", advice: GVISOR },
  sentry: {
    required: false,
    keeps: "become root on the host by a hole in gVisor's kernel alone: that is nobody there",
    advice: DROP_DIRECTFS,
  },
  network: {
    required: true,
    keeps: "reach any network or port",
    advice: "add `--network=none` to the runtimeArgs of runsc in /etc/docker/daemon.json, and restart Docker",
  },
  names: { required: true, keeps: "see name servers of the host's", advice: ENGINE },
  "read-only": { required: true, keeps: "change the image that it runs in", advice: ENGINE },
  user: { required: true, keeps: "be anybody but nobody", advice: ENGINE },
  capabilities: { required: true, keeps: "have any capability", advice: ENGINE },
  "new-privileges": { required: true, keeps: "gain rights from a file", advice: ENGINE },
  mounts: { required: true, keeps: "have more mounted than its own folders", advice: ENGINE },
  files: { required: true, keeps: "see a file of the host's", advice: ENGINE },
  engine: { required: true, keeps: "reach the engine that runs it", advice: ENGINE },
  devices: { required: true, keeps: "use a device of the host's", advice: ENGINE },
  memory: { required: true, keeps: "take more memory than its limit", advice: CGROUPS },
  processes: { required: true, keeps: "start processes without end", advice: `${ENGINE}; ${CGROUPS}` },
  disk: { required: true, keeps: "write more than its folders hold", advice: ENGINE },
  processors: { required: false, keeps: "compute on more processors than it has", advice: CGROUPS },
  "open-files": { required: false, keeps: "open files without end", advice: ENGINE },
  core: { required: false, keeps: "leave a dump of its memory", advice: ENGINE },
  log: { required: true, keeps: "fill the host's disk with what it prints", advice: ENGINE },
  time: { required: true, keeps: "go on when its time is up", advice: ENGINE },
  orphan: { required: true, keeps: "outlive the ptc that started it", advice: `${IMAGE}; ${ENGINE}` },
  removal: { required: true, keeps: "leave its container behind", advice: ENGINE },
} as const satisfies Record<string, Wall>;

export type WallName = keyof typeof WALLS;
