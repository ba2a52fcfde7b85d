import { join } from "node:path";
import type { Configuration } from "../configuration/configuration.ts";
import { fileVersion } from "../generation/file-version.ts";
import { generatedDirectory } from "../generation/generated-modules.ts";
import type { HostCatalog } from "../host.ts";
import { loadProgramTools, type ProgramTools } from "../tools/program-tools.ts";

const FILES = ["ptc.lock.json", "catalog.json"];

/**
 * The catalog as `ptc generate` has written it last. It is read again after every change, and never written, as for a command
 * that runs alone.
 */
export class CatalogOnDisk implements HostCatalog {
  readonly #configuration: Configuration;
  #loaded: { version: string; tools: Promise<ProgramTools> } | undefined;

  constructor(configuration: Configuration) {
    this.#configuration = configuration;
  }

  async currentTools(): Promise<ProgramTools> {
    const version = await this.#version();
    if (this.#loaded?.version === version) return this.#loaded.tools;
    const loaded = { version, tools: loadProgramTools(this.#configuration) };
    this.#loaded = loaded;
    loaded.tools.catch(() => {
      // What was edited by hand may be put right without another version of the files.
      if (this.#loaded === loaded) this.#loaded = undefined;
    });
    return loaded.tools;
  }

  forProgram(): Promise<ProgramTools> {
    return this.currentTools();
  }

  async #version(): Promise<string> {
    const directory = generatedDirectory(this.#configuration);
    return (await Promise.all(FILES.map((file) => fileVersion(join(directory, file))))).join();
  }
}
