import { composition } from "./composition.ts";
import { Host, type HostOptions } from "./host.ts";
import type { Project } from "./open-project.ts";

/** Opens the host of a project for one command. Importing this module loads everything that runs programs. */
export function openHost(project: Project, options: HostOptions = {}): Host {
  return new Host(project, options, async () => composition);
}
