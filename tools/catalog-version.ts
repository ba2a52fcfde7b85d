import { join } from "node:path";
import { fileVersion } from "../catalog/store/own-file.ts";
import type { LockedServer } from "../catalog/store/stored-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { generatedDirectory } from "../generation/generated-modules.ts";
import { programsVersion } from "../programs/programs-directory.ts";
import type { ProgramTools } from "./program-tools.ts";

const FILES = ["ptc.lock.json", "catalog.json"];

/** A text that changes whenever the generated catalog does; `undefined` while there is none. */
export function generatedVersion(configuration: Configuration): string | undefined {
  const directory = generatedDirectory(configuration);
  const versions = FILES.map((file) => fileVersion(join(directory, file)));
  return versions.every((version) => version === undefined) ? undefined : versions.join();
}

/** Like `generatedVersion`, of saved programs too. */
export function catalogVersion(configuration: Configuration): string | undefined {
  const programs = programsVersion(configuration);
  const generated = generatedVersion(configuration);
  return programs === undefined ? generated : `${generated}\n${programs}`;
}

/** What clients are told of when it changes: the servers, and the programs that are tools of their own. */
export function toldOf({ all, programs }: ProgramTools): string {
  const exposed = programs?.programs.filter(({ manifest }) => manifest.expose) ?? [];
  const names = exposed.map(({ tool }) => `${tool.name} ${tool.definitionDigest}`);
  return [...all.servers.map(({ module }) => module), ...names].join();
}

/** Differs when a server's definitions do. */
export function digestsOf(server: LockedServer | undefined): string {
  return [...(server?.tools ?? [])].map(([name, { sha256 }]) => `${sha256} ${name}`).join();
}
