import { Readable, Writable } from "node:stream";
import type { Surroundings } from "../../project/surroundings.ts";

/** Collects what a command prints. */
class Text extends Writable {
  text = "";
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** What a command touches, in a folder, with what it prints kept. */
export function surroundingsIn(
  cwd: string,
  argv: string[] = [],
): Surroundings & { stdout: Text; stderr: Text } {
  return {
    argv,
    env: {},
    stdin: Readable.from([]),
    stdout: new Text(),
    stderr: new Text(),
    cwd: () => cwd,
    on: () => {},
    exit: () => {
      throw new Error("exit");
    },
  };
}
