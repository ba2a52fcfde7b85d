/** Where it is told how to install what sandboxes need. */
export const DOCKER_INSTALLATION = "https://docs.docker.com/engine/install/";
export const GVISOR_INSTALLATION = "https://gvisor.dev/docs/user_guide/install/";

/** What to do about a gVisor whose kernel is root on its machine. */
export const DROP_DIRECTFS =
  "add `--directfs=false` to the runtimeArgs of runsc in /etc/docker/daemon.json on the engine's machine, and have Docker read it (`systemctl reload docker`)";

/** What to do about a runtime that the engine does not know. */
export const REGISTER_GVISOR = `install gVisor (${GVISOR_INSTALLATION}) and register it as \`runsc\` in /etc/docker/daemon.json on the engine's machine`;
