import { PassThrough, Writable } from "node:stream";
import { expect, vi } from "vitest";
import type { Surroundings } from "../../../project/surroundings.ts";

/** To a column, and what is right of it away. */
const LINE_EDITING = new RegExp(`${String.fromCharCode(27)}\\[(?:\\d+G|0J)`, "g");

/** A terminal that keeps what is drawn on it, and what is typed in it until somebody reads. */
export class FakeTerminal {
  readonly stdin: Surroundings["stdin"] = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => {},
  });
  readonly stderr: Surroundings["stderr"];
  drawn = "";

  constructor(columns = 80) {
    const stderr = new Writable({
      write: (chunk: Buffer, _, done) => {
        this.drawn += chunk.toString();
        done();
      },
    });
    this.stderr = Object.assign(stderr, { isTTY: true, columns });
  }

  get surroundings(): Surroundings {
    const { stdin, stderr } = this;
    return { stdin, stderr, env: { NO_COLOR: "1", TERM: "dumb" } } as Partial<Surroundings> as Surroundings;
  }

  type(text: string): void {
    (this.stdin as PassThrough).write(text);
  }

  /** What stands on it, without what the line editor does to draw its prompt. */
  get screen(): string {
    return this.drawn.replaceAll(LINE_EDITING, "");
  }

  /** Resolves when that matches. */
  async shows(pattern: RegExp): Promise<void> {
    await vi.waitFor(() => expect(this.screen).toMatch(pattern), { timeout: 20_000, interval: 5 });
  }
}

/** The same without a terminal. */
export function pipe(): { surroundings: Surroundings; written: () => string } {
  let text = "";
  const stderr = new Writable({
    write(chunk: Buffer, _, done) {
      text += chunk.toString();
      done();
    },
  });
  const surroundings = { stdin: new PassThrough(), stderr, env: {} } as Partial<Surroundings> as Surroundings;
  return { surroundings, written: () => text };
}
