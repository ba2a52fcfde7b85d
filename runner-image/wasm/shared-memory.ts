/**
 * Has what an interpreter of Emscripten keeps outside of its own memory share the bound of that memory: the contents of its files, which
 * are all in memory, and of its pipes. Neither the maximum of a WebAssembly memory nor the heap of V8 counts them.
 *
 * What is held is looked over whenever the bound would be passed, so nothing has to notice each way in which a file or a pipe goes away.
 */

/** Emscripten numbers errors as WASI does. */
const ENOSPC = 51;
const PAGE_BYTES = 64 * 1024;
/** A write to a pipe takes whole pieces of this size. */
const PIPE_PIECE_BYTES = 8192;
/** Files and pipes leave as much to the interpreter, so that a program without space can still say so. */
const RESERVE_BYTES = 16 * 1024 * 1024;
/** How many files and pipes are counted before the first search for those that are gone. */
const FIRST_LOOK = 1_000;

interface FileNode {
  name: string;
  parent: { contents?: Record<string, unknown> };
  contents: Uint8Array | null;
}

interface Pipe {
  /** `null` when both ends are closed. */
  buckets: readonly unknown[] | null;
}

type Write<Node> = (
  stream: { node: Node },
  buffer: Uint8Array,
  offset: number,
  length: number,
  position: number,
  canOwn?: boolean,
) => number;

interface FileOperations {
  write: Write<FileNode>;
}

/** What of Emscripten's module is used here. */
export interface EmscriptenModule {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  FS: {
    ErrnoError: new (errno: number) => Error;
    streams: readonly ({ node: unknown } | null | undefined)[];
    filesystems: {
      MEMFS: {
        stream_ops: FileOperations;
        /** Those that the nodes have. */
        ops_table: { file: { stream: FileOperations } };
        resizeFileStorage(node: FileNode, size: number): void;
      };
    };
  };
  PIPEFS: { stream_ops: { write: Write<{ pipe: Pipe }> } };
}

/**
 * From now on memory, files and pipes take `maxBytes` together. Beyond them memory does not grow, and writes fail with `ENOSPC`.
 * Files that are there already count from the first change of them on.
 */
export function shareMemory({ memory, FS, PIPEFS }: EmscriptenModule, maxBytes: number): void {
  const { MEMFS } = FS.filesystems;
  const held = new Map<FileNode | Pipe, number>();
  let heldBytes = 0;
  let nextLook = FIRST_LOOK;

  const leftBytes = () => maxBytes - memory.buffer.byteLength - heldBytes;

  function count(holder: FileNode | Pipe, bytes: number): void {
    heldBytes += bytes - (held.get(holder) ?? 0);
    if (bytes === 0) held.delete(holder);
    else held.set(holder, bytes);
  }

  function note(holder: FileNode | Pipe): void {
    count(holder, "buckets" in holder ? pipeBytes(holder) : fileBytes(holder));
    if (held.size > nextLook) lookOver();
  }

  function lookOver(): void {
    const open = new Set(FS.streams.map((stream) => stream?.node));
    for (const holder of held.keys())
      count(holder, "buckets" in holder ? pipeBytes(holder) : isThere(holder, open) ? fileBytes(holder) : 0);
    nextLook = Math.max(FIRST_LOOK, 2 * held.size);
  }

  /** @throws ErrnoError `ENOSPC` */
  function reserve(holder: FileNode | Pipe, bytes: number): void {
    const lacks = () => {
      const more = bytes - (held.get(holder) ?? 0);
      return more > 0 && more > leftBytes() - RESERVE_BYTES;
    };
    if (!lacks()) return;
    lookOver();
    if (lacks()) throw new FS.ErrnoError(ENOSPC);
  }

  const { write } = MEMFS.stream_ops;
  const writeFile: typeof write = (stream, buffer, offset, length, position, canOwn) => {
    const { node } = stream;
    reserve(node, position + length);
    const written = write(stream, buffer, offset, length, position, canOwn);
    note(node);
    return written;
  };
  MEMFS.stream_ops.write = writeFile;
  MEMFS.ops_table.file.stream.write = writeFile;

  const resize = MEMFS.resizeFileStorage;
  MEMFS.resizeFileStorage = (node, size) => {
    reserve(node, size);
    resize(node, size);
    note(node);
  };

  const writePipe = PIPEFS.stream_ops.write;
  PIPEFS.stream_ops.write = (stream, buffer, offset, length, position) => {
    const { pipe } = stream.node;
    reserve(pipe, pipeBytes(pipe) + length + PIPE_PIECE_BYTES);
    const written = writePipe(stream, buffer, offset, length, position);
    note(pipe);
    return written;
  };

  const grow = memory.grow.bind(memory);
  memory.grow = (pages) => {
    if (pages * PAGE_BYTES > leftBytes()) lookOver();
    if (pages * PAGE_BYTES > leftBytes()) throw new RangeError("files and pipes have taken the memory");
    return grow(pages);
  };

  function isThere(node: FileNode, open: ReadonlySet<unknown>): boolean {
    return node.parent.contents?.[node.name] === node || open.has(node);
  }
}

function fileBytes({ contents }: FileNode): number {
  return contents?.buffer.byteLength ?? 0;
}

function pipeBytes({ buckets }: Pipe): number {
  return (buckets?.length ?? 0) * PIPE_PIECE_BYTES;
}
