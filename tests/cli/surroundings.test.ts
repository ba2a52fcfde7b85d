import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { write } from "../../cli/command.ts";

describe("writing to a stream", () => {
  it("leaves no listener behind, however many texts are written", async () => {
    const stream = new PassThrough().resume();
    for (let i = 0; i < 20; i++) await write(stream, `${i}\n`);
    expect(stream.listenerCount("error")).toBe(0);
  });

  it("is no error when the reader has disconnected", async () => {
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
    await Promise.all([write(stream, "first"), write(stream, "second")]);
    await write(stream, "third");
    expect(stream.errored?.message).toBe("EPIPE");
  });
});
