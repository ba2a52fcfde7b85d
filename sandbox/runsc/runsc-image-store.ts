/**
 * Images without an engine: root file systems in a folder of this machine.
 *
 *     <images>/<digest>/image.json  its description; `root` is the state of the file at that time, to notice edits
 *     <images>/<digest>/root.erofs  its root file system as one read-only file
 *     <images>/<digest>/root/       the same as a folder: for a base, or if mkfs.erofs is not installed
 *     <images>/names/<name>         the digest that a name stands for
 */

import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { parseForeignJson } from "../../base/json.ts";
import { runProcess, streamProcess } from "../image/run-process.ts";
import type { ImageRequest, ImageStore, ListedImage, OnProgress, StoredImage } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import type { RootFileSystem } from "./oci-configuration.ts";
import { fileIdentity, findProgram } from "./runsc-command.ts";

const DIGEST = /^sha256:[0-9a-f]{64}$/;

const ImageFile = z.object({
  digest: z.string().check(z.regex(DIGEST)),
  kind: z.enum(["erofs", "folder"]),
  content: z.optional(z.string()),
  runner: z.optional(z.string()),
  base: z.optional(z.string()),
  pythonPackages: z.optional(z.array(z.string())),
  root: z.string(),
});
type ImageFile = z.infer<typeof ImageFile>;

const LIMITS = { maxBytes: 64 * 1024, maxDepth: 4 };
const INSIDE = { runner: "opt/ptc", python: "usr/bin/python3" };
/** Files that an engine adds to a container, and that a root file system lacks. */
const NETWORK_FILES = {
  "etc/hostname": "sandbox\n",
  "etc/hosts":
    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\nff02::1\tip6-allnodes\n",
  "etc/resolv.conf": "",
};
const MOUNT_POINTS = ["proc", "dev", "sys", "tmp", "workspace", "run", "srv"];
/** Makes identical file systems from identical folders. */
const EROFS_FLAGS = ["-T0", "-U00000000-0000-0000-0000-000000000000", "--all-root", "-Enoinline_data"];

export interface RunscImagesOptions {
  /** The folder of the images. */
  folder: string;
  /** A folder with another user's images, which are only read. */
  shared?: string | undefined;
  /**
   * Runs a command as root of a sandbox whose root is a writable folder. Throws `build_failed`.
   */
  runInside(root: string, command: readonly string[]): Promise<void>;
}

/** Images as root file systems on this machine. */
export class RunscImages implements ImageStore {
  readonly #options: RunscImagesOptions;

  constructor(options: RunscImagesOptions) {
    this.#options = options;
  }

  /** The root file system of an image; undefined if there is none, or it was edited since it was made. */
  async findRoot(digest: string): Promise<RootFileSystem | undefined> {
    for (const folder of this.#folders) {
      const image = await readImage(join(folder, hexOf(digest)));
      if (image !== undefined) return { kind: image.kind, path: rootOf(join(folder, hexOf(digest)), image) };
    }
    return undefined;
  }

  async inspect(reference: string): Promise<StoredImage | undefined> {
    for (const folder of this.#folders) {
      const digest = DIGEST.test(reference) ? reference : await readName(folder, reference);
      const image = digest && (await readImage(join(folder, hexOf(digest))));
      if (image) return storedImage(image);
    }
    return undefined;
  }

  /** Fetches an image from a registry with crane, podman or skopeo. */
  async pull(reference: string, onProgress: OnProgress): Promise<StoredImage> {
    const puller = PULLERS.find(({ program }) => findProgram(program) !== undefined);
    if (puller === undefined) {
      const programs = PULLERS.map(({ program }) => program).join(", ");
      throw new SandboxError(
        "base_unavailable",
        `${reference} could not be fetched: none of ${programs} is installed`,
      );
    }
    onProgress(`Fetching ${reference} with ${puller.program} ...`);
    return this.#importRoot(reference, "base_unavailable", (root, work) =>
      puller.unpack(reference, root, work),
    );
  }

  importRootfs({ tar, reference }: { tar: Readable; reference: string }): Promise<StoredImage> {
    return this.#importRoot(reference, "build_failed", (root) => unpack(tar, root));
  }

  async build({ reference, base, files, contents, onProgress }: ImageRequest): Promise<StoredImage> {
    const { content = "" } = contents;
    const basis = await this.inspect(base);
    const found = basis && (await this.findRoot(basis.digest));
    if (found?.kind !== "folder")
      throw new SandboxError("build_failed", `${reference} could not be built: there is no base ${base}`);
    const before = await readName(this.#options.folder, reference);
    const same = await this.#findContent(content);
    if (same !== undefined) {
      await this.#name(reference, same.digest, before);
      return same;
    }
    const said = { ...contents, pythonPackages: contents.pythonPackages && [...contents.pythonPackages] };
    const built = await this.#make(reference, "build_failed", async (folder) => {
      const root = join(folder, "root");
      await copyTree(found.path, root);
      await completeRoot(root, files);
      if (await isThere(join(root, INSIDE.python))) {
        onProgress("Compiling Python's modules ...");
        await this.#options.runInside(root, await compilePython(root));
      }
      const erofs = findProgram("mkfs.erofs", `${process.env.PATH}:/usr/sbin:/sbin`);
      if (erofs === undefined) return { ...said, kind: "folder", digest: content };
      await extendExecutables(root);
      await runProcess(erofs, [...EROFS_FLAGS, join(folder, "root.erofs"), root]);
      await rm(root, { recursive: true });
      return { ...said, kind: "erofs", digest: await digestOfFile(join(folder, "root.erofs")) };
    });
    await this.#name(reference, built.digest, before);
    return built;
  }

  async tag(digest: string, reference: string): Promise<void> {
    await this.#name(reference, digest, await readName(this.#options.folder, reference));
  }

  /** Gives an image a name, and removes the image that had it before unless that has another one. */
  async #name(reference: string, digest: string, before: string | undefined): Promise<void> {
    const { folder } = this.#options;
    await writeName(folder, reference, digest);
    if (before === undefined || before === digest) return;
    const names = await namesIn(folder);
    if (!names.some((each) => each.digest === before)) await this.remove(before);
  }

  /** An image of this folder with the same content, under whatever name. */
  async #findContent(content: string): Promise<StoredImage | undefined> {
    const { folder } = this.#options;
    for (const { digest } of await namesIn(folder)) {
      const image = await readImage(join(folder, hexOf(digest)));
      if (image?.content === content) return storedImage(image);
    }
    return undefined;
  }

  async listOwn(): Promise<ListedImage[]> {
    const { folder } = this.#options;
    const listed = await Promise.all(
      (await namesIn(folder)).map(async ({ reference, digest }): Promise<ListedImage[]> => {
        const image = await readImage(join(folder, hexOf(digest)));
        if (!image) return [];
        const bytes = await bytesOf(rootOf(join(folder, hexOf(digest)), image));
        return [{ reference, bytes, base: image.base }];
      }),
    );
    return listed.flat();
  }

  async remove(reference: string): Promise<void> {
    const { folder } = this.#options;
    const digest = DIGEST.test(reference) ? reference : await readName(folder, reference);
    if (digest === undefined) return;
    const names = (await namesIn(folder)).filter((each) => each.digest === digest);
    const removed = names.filter((each) => digest === reference || each.reference === reference);
    for (const each of removed) await rm(pathOfName(folder, each.reference), { force: true });
    if (removed.length === names.length)
      await rm(join(folder, hexOf(digest)), { recursive: true, force: true });
  }

  get #folders(): string[] {
    const { folder, shared } = this.#options;
    return shared === undefined || shared === folder ? [folder] : [folder, shared];
  }

  #importRoot(
    reference: string,
    code: "base_unavailable" | "build_failed",
    fill: (root: string, work: string) => Promise<void>,
  ): Promise<StoredImage> {
    return this.#make(reference, code, async (folder) => {
      const [root, work] = [join(folder, "root"), join(folder, "work")];
      await mkdir(root);
      await mkdir(work);
      await fill(root, work);
      await rm(work, { recursive: true });
      return { kind: "folder", digest: await digestOfFolder(root) };
    });
  }

  /** Makes an image in a folder that gets its final name only when it is complete. */
  async #make(
    reference: string,
    code: "base_unavailable" | "build_failed",
    fill: (folder: string) => Promise<Omit<ImageFile, "root">>,
  ): Promise<StoredImage> {
    const { folder } = this.#options;
    const unfinished = join(folder, `.${randomBytes(6).toString("hex")}`);
    try {
      await mkdir(unfinished, { recursive: true, mode: 0o755 });
      const made = await fill(unfinished);
      const path = rootOf(unfinished, { ...made, root: "" });
      const image: ImageFile = { ...made, root: fileIdentity(await stat(path)) };
      await writeFile(join(unfinished, "image.json"), JSON.stringify(image));
      const final = join(folder, hexOf(made.digest));
      // Another ptc may have made the same image meanwhile, and an edited one is replaced.
      await rm(final, { recursive: true, force: true });
      await rename(unfinished, final);
      await writeName(folder, reference, made.digest);
      return storedImage(image);
    } catch (cause) {
      if (cause instanceof SandboxError && cause.code === code) throw cause;
      const what = code === "build_failed" ? "built" : "fetched";
      throw new SandboxError(code, `${reference} could not be ${what}: ${messageOf(cause)}`, { cause });
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }
}

function hexOf(digest: string): string {
  return digest.replace(/^sha256:/, "");
}

function rootOf(folder: string, { kind }: ImageFile): string {
  return join(folder, kind === "erofs" ? "root.erofs" : "root");
}

/** @returns undefined for a folder without an image, or with an edited one. */
async function readImage(folder: string): Promise<ImageFile | undefined> {
  try {
    const image = ImageFile.parse(parseForeignJson(await readFile(join(folder, "image.json")), LIMITS));
    return image.root === fileIdentity(await stat(rootOf(folder, image))) ? image : undefined;
  } catch {
    return undefined;
  }
}

function storedImage({ digest, content, runner, base, pythonPackages }: ImageFile): StoredImage {
  return { digest, content, runner, base, pythonPackages };
}

function pathOfName(folder: string, reference: string): string {
  return join(folder, "names", encodeURIComponent(reference));
}

/** The names in a folder of images. */
async function namesIn(folder: string): Promise<{ reference: string; digest: string }[]> {
  const files = await readdir(join(folder, "names")).catch(() => []);
  const names = await Promise.all(
    files.map(async (file) => {
      const reference = decodeURIComponent(file);
      const digest = await readName(folder, reference);
      return digest === undefined ? [] : [{ reference, digest }];
    }),
  );
  return names.flat();
}

async function readName(folder: string, reference: string): Promise<string | undefined> {
  const digest = await readFile(pathOfName(folder, reference), "utf8").catch(() => "");
  return DIGEST.test(digest) ? digest : undefined;
}

async function writeName(folder: string, reference: string, digest: string): Promise<void> {
  const path = pathOfName(folder, reference);
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(unfinished, digest);
  await rename(unfinished, path);
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return `sha256:${hash.digest("hex")}`;
}

/** A digest of the names, kinds, modes and contents of everything in a folder. */
async function digestOfFolder(root: string): Promise<string> {
  const { output, ended } = streamProcess("tar", [
    "--create",
    "--format=gnu",
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    `--directory=${root}`,
    ".",
  ]);
  const hash = createHash("sha256");
  await Promise.all([pipeline(output, hash), ended]);
  return `sha256:${hash.digest("hex")}`;
}

async function bytesOf(path: string): Promise<number> {
  const found = await lstat(path);
  if (!found.isDirectory()) return found.size;
  const names = await readdir(path);
  return (await Promise.all(names.map((name) => bytesOf(join(path, name))))).reduce((a, b) => a + b, 0);
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

async function unpack(tar: Readable, root: string): Promise<void> {
  await runProcess("tar", ["--extract", "--no-same-owner", "--preserve-permissions", `--directory=${root}`], {
    input: tar,
  });
}

/** Copies a tree. Within one file system, the copy shares the files; files that differ must be written anew. */
async function copyTree(from: string, to: string): Promise<void> {
  const isOneFileSystem = (await stat(from)).dev === (await stat(dirname(to))).dev;
  await runProcess("cp", ["--archive", isOneFileSystem ? "--link" : "--reflink=auto", from, to]);
}

/** Adds to a base what Dockerfile.runner adds, and what an engine would add to a container. */
async function completeRoot(root: string, files: ImageRequest["files"]): Promise<void> {
  for (const folder of MOUNT_POINTS) await mkdir(join(root, folder), { recursive: true });
  await chmod(join(root, "tmp"), 0o1777);
  for (const [name, text] of Object.entries(NETWORK_FILES)) await writeAnew(join(root, name), text);
  // As in a container of an engine.
  await rm(join(root, "etc/mtab"), { force: true });
  await symlink("/proc/mounts", join(root, "etc/mtab"));
  for (const [name, bytes] of files)
    if (name !== "Dockerfile") await writeAnew(join(root, INSIDE.runner, name), bytes);
}

/** Writes a new file, so that a file shared with the base keeps its content there. */
async function writeAnew(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
  await writeFile(path, content);
  await chmod(path, 0o644);
}

/** Extends the executables of a root file system to whole pages. They may be shared with the base, so they are written anew. */
async function extendExecutables(root: string): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    const { mode } = await stat(path);
    const extended = (mode & 0o111) === 0 ? undefined : extendToPages(await readFile(path));
    if (extended === undefined) continue;
    await writeAnew(path, extended);
    await chmod(path, mode);
  }
}

const PAGE_BYTES = 4_096;
const ELF_MAGIC = Buffer.from("\x7fELF\x02\x01", "latin1");
const PROGRAM_HEADER_BYTES = 56;
const PT_LOAD = 1;
const PF_W = 2;

/**
 * Extends the segments of a program that are only read or executed, and the file, to whole pages. gVisor clears the rest of the last
 * page of a segment that ends within one, and for that copies up to 2 MB around it into the sandbox's memory, which every snapshot
 * would hold and every restore would copy. The file's next bytes do no harm there, because nothing refers to addresses after a
 * segment, and Linux maps them, too. Pure.
 *
 * @returns undefined if there is nothing to extend: for a file that is not a 64-bit ELF file, for example.
 */
export function extendToPages(file: Buffer): Buffer | undefined {
  if (file.length < 64 || !file.subarray(0, ELF_MAGIC.length).equals(ELF_MAGIC)) return undefined;
  const at = Number(file.readBigUInt64LE(32));
  const headers = Array.from(
    { length: file.readUInt16LE(56) },
    (_, index) => at + index * PROGRAM_HEADER_BYTES,
  );
  if (
    file.readUInt16LE(54) !== PROGRAM_HEADER_BYTES ||
    at + headers.length * PROGRAM_HEADER_BYTES > file.length
  )
    return undefined;
  const segments = headers
    .filter((header) => file.readUInt32LE(header) === PT_LOAD)
    .map((header) => {
      const [offset = 0, address = 0, , bytes = 0, memoryBytes = 0] = [8, 16, 24, 32, 40].map((field) =>
        Number(file.readBigUInt64LE(header + field)),
      );
      const isWritable = (file.readUInt32LE(header + 4) & PF_W) !== 0;
      return { header, offset, address, bytes, memoryBytes, isWritable };
    });
  const changes = segments.flatMap(({ header, offset, address, bytes, memoryBytes, isWritable }) => {
    const end = address + bytes;
    const pagesEnd = Math.ceil(end / PAGE_BYTES) * PAGE_BYTES;
    const isOthers = segments.some((other) => other.address >= end && other.address < pagesEnd);
    const isOutside = offset + bytes > file.length;
    if (isWritable || bytes !== memoryBytes || pagesEnd === end || isOthers || isOutside) return [];
    return [{ header, bytes: pagesEnd - address, fileEnd: offset + pagesEnd - address }];
  });
  if (changes.length === 0) return undefined;
  const extended = Buffer.alloc(Math.max(file.length, ...changes.map(({ fileEnd }) => fileEnd)));
  file.copy(extended);
  for (const { header, bytes } of changes)
    for (const field of [32, 40]) extended.writeBigUInt64LE(BigInt(bytes), header + field);
  return extended;
}

/** The command that compiles Python's modules, so that Python starts three times as fast. */
async function compilePython(root: string): Promise<string[]> {
  const libraries = (await readdir(join(root, "usr/lib"))).filter((name) => /^python3/.test(name));
  return [
    `/${INSIDE.python}`,
    ...["-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash"],
    ...libraries.map((name) => `/usr/lib/${name}`),
    `/${INSIDE.runner}/python`,
  ];
}

/** Programs that fetch an image from a registry, in order of preference. */
const PULLERS: readonly {
  program: string;
  unpack(reference: string, root: string, work: string): Promise<void>;
}[] = [
  {
    program: "crane",
    async unpack(reference, root) {
      const { output, ended } = streamProcess("crane", ["export", reference, "-"]);
      await Promise.all([unpack(output, root), ended]);
    },
  },
  {
    program: "podman",
    async unpack(reference, root) {
      await runProcess("podman", ["pull", "--quiet", reference]);
      const name = `ptc-${randomBytes(6).toString("hex")}`;
      await runProcess("podman", ["create", "--quiet", `--name=${name}`, reference, "true"]);
      try {
        const { output, ended } = streamProcess("podman", ["export", name]);
        await Promise.all([unpack(output, root), ended]);
      } finally {
        await runProcess("podman", ["rm", name]);
      }
    },
  },
  {
    program: "skopeo",
    async unpack(reference, root, work) {
      await runProcess("skopeo", ["copy", `docker://${reference}`, `dir:${work}`]);
      const manifest = Manifest.parse(
        parseForeignJson(await readFile(join(work, "manifest.json")), MANIFEST),
      );
      for (const { digest } of manifest.layers) {
        const layer = join(work, hexOf(digest));
        await applyWhiteouts(layer, root);
        await runProcess("tar", [
          "--extract",
          "--no-same-owner",
          "--preserve-permissions",
          "--exclude=.wh.*",
          `--directory=${root}`,
          `--file=${layer}`,
        ]);
      }
    },
  },
];

const MANIFEST = { maxBytes: 1024 * 1024, maxDepth: 16 };
const Manifest = z.object({
  layers: z.array(z.object({ digest: z.string().check(z.regex(DIGEST)) })).check(z.maxLength(200)),
});
const WHITEOUT = /(?:^|\/)\.wh\.([^/]+)$/;
/** The name of a file that hides everything of lower layers in its folder. */
const OPAQUE = ".wh..opq";

/** Removes the files that a layer deletes from lower layers (OCI image-spec, `layer.md`, "Whiteouts"). */
async function applyWhiteouts(layer: string, root: string): Promise<void> {
  const { output, ended } = streamProcess("tar", ["--list", `--file=${layer}`]);
  let names = "";
  output.on("data", (chunk: Buffer) => {
    names += chunk.toString();
  });
  await ended;
  for (const path of names.split("\n").map((line) => line.replace(/^\.\//, ""))) {
    const name = WHITEOUT.exec(path)?.[1];
    if (name === undefined || path.split("/").includes("..")) continue;
    const folder = join(root, dirname(path));
    if (name !== OPAQUE) await rm(join(folder, name), { recursive: true, force: true });
    else
      for (const entry of await readdir(folder).catch(() => []))
        await rm(join(folder, entry), { recursive: true, force: true });
  }
}
