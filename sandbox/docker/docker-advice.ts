import type { EngineAdvice } from "../sandbox-profile.ts";

/** Pages about installing what sandboxes need. */
export const DOCKER_INSTALLATION = "https://docs.docker.com/engine/install/";
export const GVISOR_INSTALLATION = "https://gvisor.dev/docs/user_guide/install/";

const REGISTER_GVISOR = `install gVisor (${GVISOR_INSTALLATION}) and register it as \`runsc\` in /etc/docker/daemon.json on the engine's machine`;

const ENGINE =
  "use the Docker engine itself, in a version from 20.10 on, and not something that stands in for it";
const CGROUPS =
  "let the engine set cgroups: no `--ignore-cgroups` among runsc's flags, and no rootless engine without delegation";

/** What to do if a wall does not hold with Docker. */
export const DOCKER_ADVICE: EngineAdvice = {
  missingRuntime: REGISTER_GVISOR,
  walls: {
    kernel: `use gVisor's runsc as \`sandbox.runtime\`: ${REGISTER_GVISOR}`,
    sentry:
      "add `--directfs=false` to the runtimeArgs of runsc in /etc/docker/daemon.json on the engine's machine, and have Docker read it (`systemctl reload docker`)",
    network:
      "add `--network=none` to the runtimeArgs of runsc in /etc/docker/daemon.json, and restart Docker",
    names: ENGINE,
    "read-only": ENGINE,
    user: ENGINE,
    capabilities: ENGINE,
    "new-privileges": ENGINE,
    mounts: ENGINE,
    files: ENGINE,
    engine: ENGINE,
    devices: ENGINE,
    memory: CGROUPS,
    processes: `${ENGINE}; ${CGROUPS}`,
    disk: ENGINE,
    processors: CGROUPS,
    "open-files": ENGINE,
    core: ENGINE,
    log: ENGINE,
    time: ENGINE,
    orphan: `run \`ptc image build\`; ${ENGINE}`,
    removal: ENGINE,
  },
};
