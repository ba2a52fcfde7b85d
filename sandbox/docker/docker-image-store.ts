import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { messageOf } from "../../base/faults.ts";
import { debianBaseName } from "../image/debian-base.ts";
import { packDirectory } from "../image/run-process.ts";
import type { ImageRequest, ImageStore, ListedImage, OnProgress, StoredImage } from "../sandbox-engine.ts";
import { SandboxError, type SandboxErrorCode } from "../sandbox-error.ts";
import { explainDockerFault, httpStatusOf } from "./docker-client.ts";
import { buildArguments, CONTENT_LABEL, readLabels } from "./image-labels.ts";

/** The part of dockerode's `Docker` that is used here. */
export interface DockerImages {
  getImage(reference: string): {
    inspect(): Promise<{ Id: string; Config?: { Labels?: Record<string, string> | null } }>;
    history(): Promise<{ CreatedBy: string }[]>;
    remove(): Promise<unknown>;
    tag(options: { repo: string; tag: string }): Promise<unknown>;
  };
  listImages(options: object): Promise<
    {
      Id: string;
      Created: number;
      Size: number;
      RepoTags?: string[] | undefined;
      Labels?: Record<string, string> | null;
    }[]
  >;
  pull(reference: string, options: object): Promise<NodeJS.ReadableStream>;
  buildImage(context: NodeJS.ReadableStream, options: object): Promise<NodeJS.ReadableStream>;
  importImage(tar: NodeJS.ReadableStream, options: object): Promise<NodeJS.ReadableStream>;
}

/** The last step of Dockerfile.runner. An image that is based on ptc's has a different one. */
const LAST_STEP = /\bCMD\b.*\/opt\/ptc\/runner\.mjs/;

/**
 * How to find ptc's own images. A label and a name are not enough: an image inherits the labels of its base, and anybody can give it
 * any name. `steps` are the commands that made the layers, the newest first; a base is imported as one layer.
 */
const OWN_IMAGES: readonly {
  filters: Record<string, string[]>;
  isOwn(reference: string, steps: readonly string[]): boolean;
}[] = [
  { filters: { label: [CONTENT_LABEL] }, isOwn: (_, [last = ""]) => LAST_STEP.test(last) },
  {
    filters: { reference: ["ptc-base"] },
    isOwn: (name, steps) => debianBaseName.test(name) && steps.length === 1,
  },
];

/** The name that older engines report for an image without a name. */
const NAMELESS = "<none>:<none>";

/** Younger unnamed images may belong to a build in progress. */
const BUILD_SECONDS = 60;

/** Images in a Docker engine. What an image says of itself is in its labels (image-labels.ts). */
export class DockerImageStore implements ImageStore {
  readonly #docker: DockerImages;
  readonly #registryAnswerMs: number;

  /** @param registryAnswerMs how long to wait for a registry's first answer. Without one, the base is made in a different way. */
  constructor(docker: DockerImages, registryAnswerMs = 8_000) {
    this.#docker = docker;
    this.#registryAnswerMs = registryAnswerMs;
  }

  async inspect(reference: string): Promise<StoredImage | undefined> {
    const image = await unlessGone(this.#docker.getImage(reference).inspect());
    return image && { digest: image.Id, ...readLabels(image.Config?.Labels) };
  }

  async pull(reference: string, onProgress: OnProgress): Promise<StoredImage> {
    const answer = new AbortController();
    const timer = setTimeout(() => answer.abort(), this.#registryAnswerMs);
    try {
      const events = await this.#docker.pull(reference, { abortSignal: answer.signal });
      clearTimeout(timer);
      await follow(events, onProgress);
    } catch (cause) {
      const reason = answer.signal.aborted ? "no registry answered" : messageOf(cause);
      throw new SandboxError("base_unavailable", `${reference} could not be fetched: ${reason}`, { cause });
    } finally {
      clearTimeout(timer);
    }
    return this.#inspectNew(reference, "base_unavailable");
  }

  async build({ reference, base, files, contents, onProgress }: ImageRequest): Promise<StoredImage> {
    await doOrFail("build_failed", `${reference} could not be built`, async () => {
      const buildargs = { BASE: base, ...buildArguments(contents) };
      // No build step needs a network, and the engine may have none.
      const options = { t: reference, buildargs, networkmode: "none", rm: true, forcerm: true };
      await withFolder(files, async (folder) => {
        const { tar, ended } = packDirectory(folder);
        const building = this.#docker.buildImage(tar, options).then((events) => follow(events, onProgress));
        await Promise.all([building, ended]);
      });
    });
    await this.#removeNameless();
    return this.#inspectNew(reference, "build_failed");
  }

  async tag(digest: string, reference: string): Promise<void> {
    const [repo = "", tag = "latest"] = reference.split(/:(?=[^/]*$)/);
    try {
      await this.#docker.getImage(digest).tag({ repo, tag });
    } catch (cause) {
      throw explainDockerFault(cause, "engine_unreachable");
    }
    await this.#removeNameless();
  }

  async importRootfs({ tar, reference }: Parameters<ImageStore["importRootfs"]>[0]): Promise<StoredImage> {
    await doOrFail("build_failed", `${reference} could not be imported`, async () => {
      const [repo, tag] = reference.split(":");
      await follow(await this.#docker.importImage(tar, { repo, tag }), () => {});
    });
    return this.#inspectNew(reference, "build_failed");
  }

  /** Removes ptc's images that have lost their names, unless a container uses them. */
  async #removeNameless(): Promise<void> {
    const filters = { dangling: ["true"], label: [CONTENT_LABEL] };
    const images = await this.#docker.listImages({ filters }).catch(() => []);
    const old = images.filter(({ Created }) => Created < Date.now() / 1000 - BUILD_SECONDS);
    // The engine refuses to remove images that a container uses; the next build tries again.
    await Promise.all(
      old.map(({ Id }) =>
        this.#docker
          .getImage(Id)
          .remove()
          .catch(() => {}),
      ),
    );
  }

  async listOwn(): Promise<ListedImage[]> {
    const found = new Map<string, ListedImage>();
    for (const { filters, isOwn } of OWN_IMAGES) {
      const images = await this.#docker.listImages({ filters }).catch((cause: unknown) => {
        throw explainDockerFault(cause, "engine_unreachable");
      });
      for (const { Id, Size, RepoTags = [], Labels } of images) {
        const { base } = readLabels(Labels);
        const steps = await this.#stepsOf(Id);
        const names = RepoTags.filter((name) => name !== NAMELESS);
        for (const name of names.length > 0 ? names : [Id])
          if (isOwn(name, steps)) found.set(name, { reference: name, bytes: Size, base });
      }
    }
    return [...found.values()];
  }

  async #stepsOf(id: string): Promise<string[]> {
    const steps = (await unlessGone(this.#docker.getImage(id).history())) ?? [];
    return steps.map(({ CreatedBy }) => CreatedBy);
  }

  async remove(reference: string): Promise<void> {
    await unlessGone(this.#docker.getImage(reference).remove());
  }

  async #inspectNew(reference: string, code: SandboxErrorCode): Promise<StoredImage> {
    const image = await this.inspect(reference);
    if (image !== undefined) return image;
    throw new SandboxError(code, `Docker reported success, but has no image ${reference}.`);
  }
}

/** Writes files to a temporary folder, readable for the user as which programs run. */
async function withFolder(
  files: ImageRequest["files"],
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ptc-image-"));
  try {
    for (const [name, bytes] of files) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
      await chmod(path, 0o644);
    }
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads the engine's events, one JSON object per line. Errors are events, too, because HTTP has already answered 200. */
async function follow(events: NodeJS.ReadableStream, onProgress: OnProgress): Promise<void> {
  for await (const line of createInterface({ input: Readable.from(events) })) {
    const event = parseEvent(line);
    if (event.error !== undefined) throw new Error(event.error);
    const text = (event.stream ?? event.status)?.trim();
    if (text) onProgress(text);
  }
}

function parseEvent(line: string): { error?: string; stream?: string; status?: string } {
  if (line.trim() === "") return {};
  const event: unknown = JSON.parse(line);
  if (typeof event !== "object" || event === null) return {};
  return Object.fromEntries(Object.entries(event).filter(([, value]) => typeof value === "string"));
}

async function doOrFail(code: SandboxErrorCode, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new SandboxError(code, `${what}: ${messageOf(cause)}`, { cause });
  }
}

/** Resolves with undefined if there is no such image. @throws SandboxError `engine_unreachable` */
async function unlessGone<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (cause) {
    if (httpStatusOf(cause) === 404) return undefined;
    throw explainDockerFault(cause, "engine_unreachable");
  }
}
