import { messageOf } from "../base/faults.ts";
import type { Platform } from "../protocol/platform.ts";
import type { SandboxOutput } from "./sandbox.ts";
import type {
  EngineChoice,
  EngineDescription,
  EngineName,
  ImageStore,
  SandboxEngine,
  SandboxRequest,
  StartedSandbox,
  StoredImage,
} from "./sandbox-engine.ts";
import { SandboxError } from "./sandbox-error.ts";

interface SettledEngine {
  engine: SandboxEngine;
  why: string;
  /** What the engine has said of itself, if it was asked. */
  described?: EngineDescription;
}

/** What an engine says of itself, or why it cannot be used here. */
type Looked = { described: EngineDescription } | { whyNot: string };

/** Opens one engine. */
export interface EngineLoader {
  /** Why the engine is certainly not here, determined without a request; undefined if it may be here. */
  whyAbsent?: () => string | undefined;
  open(): Promise<SandboxEngine>;
}

/**
 * The configured engine or, with `auto`, the available one: Docker if a daemon with the runtime answers, else runsc alone. It is
 * searched for, and loaded, when it is first needed. Later calls use the same one.
 */
export class ChosenEngine implements SandboxEngine {
  readonly #choice: EngineChoice;
  readonly #runtime: string;
  readonly #loaders: Readonly<Record<EngineName, EngineLoader>>;
  #settled: Promise<SettledEngine> | undefined;
  #chosen: SandboxEngine | undefined;

  constructor(choice: EngineChoice, runtime: string, loaders: Readonly<Record<EngineName, EngineLoader>>) {
    this.#choice = choice;
    this.#runtime = runtime;
    this.#loaders = loaders;
  }

  get name(): string {
    throw new Error("an engine has a name once it is settled");
  }

  get advice(): SandboxEngine["advice"] {
    throw new Error("an engine has advice once it is settled");
  }

  get platform(): Platform {
    return this.#choice === "wasm" ? "wasm" : "node";
  }

  settled(): Promise<SettledEngine> {
    this.#settled ??= this.#settle().then((settled) => {
      this.#chosen = settled.engine;
      return settled;
    });
    return this.#settled;
  }

  isElsewhere(): boolean {
    return this.#chosen?.isElsewhere?.() ?? false;
  }

  async describe(): Promise<EngineDescription> {
    return (await this.#engine()).describe();
  }

  async findImage(reference: string): Promise<StoredImage | undefined> {
    return (await this.#engine()).findImage(reference);
  }

  async prepare(runtime: string): Promise<void> {
    await (await this.#engine()).prepare?.(runtime);
  }

  async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    return (await this.#engine()).start(request, output);
  }

  async list(): Promise<{ id: string; owner: string }[]> {
    return (await this.#engine()).list();
  }

  async keepsOutput(id: string): Promise<boolean> {
    return (await this.#engine()).keepsOutput(id);
  }

  async keepsKernelUnprivileged(id: string): Promise<boolean | undefined> {
    return (await this.#engine()).keepsKernelUnprivileged?.(id);
  }

  async remove(id: string): Promise<void> {
    return (await this.#engine()).remove(id);
  }

  async snapshot(request: SandboxRequest): Promise<void> {
    await (await this.#engine()).snapshot?.(request);
  }

  keepSwept(owner: string): void {
    void this.#engine().then(
      (engine) => engine.keepSwept?.(owner),
      () => {},
    );
  }

  async close(): Promise<void> {
    const settled = await this.#settled?.catch(() => undefined);
    await settled?.engine.close?.();
  }

  async openImages(): Promise<ImageStore> {
    const engine = await this.#engine();
    if (engine.openImages === undefined)
      throw new SandboxError("build_failed", `no image can be built for ${engine.name}`);
    return engine.openImages();
  }

  async #engine(): Promise<SandboxEngine> {
    return (await this.settled()).engine;
  }

  async #settle(): Promise<SettledEngine> {
    if (this.#choice !== "auto")
      return { engine: await this.#loaders[this.#choice].open(), why: "sandbox.engine says so" };
    const docker = await this.#look("docker");
    if ("described" in docker)
      return {
        ...docker,
        engine: await this.#loaders.docker.open(),
        why: `it is there and has ${this.#runtime}; with \`sandbox.engine: runsc\` sandboxes need no Docker`,
      };
    const runsc = await this.#look("runsc");
    if ("described" in runsc)
      return {
        ...runsc,
        engine: await this.#loaders.runsc.open(),
        why: `there is no Docker to use: ${docker.whyNot}`,
      };
    // The engine that most people have reports what is missing.
    return {
      engine: await this.#loaders.docker.open(),
      why: `neither Docker nor runsc alone can be used; runsc alone: ${runsc.whyNot}`,
    };
  }

  async #look(name: EngineName): Promise<Looked> {
    const { whyAbsent, open } = this.#loaders[name];
    const why = whyAbsent?.();
    if (why !== undefined) return { whyNot: why };
    try {
      const engine = await open();
      const described = await engine.describe();
      const runtime = described.runtimes.get(this.#runtime);
      if (runtime === undefined) return { whyNot: `it does not know the runtime ${this.#runtime}` };
      return runtime.problem === undefined ? { described } : { whyNot: runtime.problem };
    } catch (error) {
      return { whyNot: messageOf(error) };
    }
  }
}
