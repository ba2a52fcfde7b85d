import type { EngineAdvice } from "../sandbox-profile.ts";

const GVISOR_INSTALLATION = "https://gvisor.dev/docs/user_guide/install/";

const INSTALL = `install gVisor, which is one file: ${GVISOR_INSTALLATION}; on Debian and Ubuntu it is a package, \`runsc\` or \`gvisor\``;
const REBUILD = "run `ptc image build`";
const NEWER = `use a runsc of 2024 or newer: ${GVISOR_INSTALLATION}`;
const CGROUPS =
  "run ptc as root, or where the controllers memory, pids and cpu are delegated to your user (`systemd-run --user --scope ptc ...`); or use Docker as the engine";

/** What to do if a wall does not hold with runsc alone. */
export const RUNSC_ADVICE: EngineAdvice = {
  missingRuntime: INSTALL,
  walls: {
    kernel: INSTALL,
    sentry: NEWER,
    network: NEWER,
    names: REBUILD,
    "read-only": REBUILD,
    user: NEWER,
    capabilities: NEWER,
    "new-privileges": NEWER,
    mounts: REBUILD,
    files: REBUILD,
    engine: NEWER,
    devices: NEWER,
    memory: CGROUPS,
    processes: CGROUPS,
    disk: NEWER,
    processors: CGROUPS,
    "open-files": NEWER,
    core: NEWER,
    log: NEWER,
    time: NEWER,
    orphan: REBUILD,
    removal: NEWER,
  },
};

/** What to do if no cgroup can be created. */
export const NO_LIMITS = `so that memory, processors and processes of a program have no limit; ${CGROUPS}; or let them have none with sandbox.allow_weaker_isolation`;
