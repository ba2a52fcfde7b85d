import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeAll } from "../../../runner-image/node/write-all.ts";
import { newFolder } from "../../temporary-folder.ts";

/** A pipe that refuses what it has no room for, as the pipes of a sandbox do, and one end for reading it. */
function openPipe() {
  const path = join(newFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { path, reading, fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

test("waits while a pipe is full, and writes every byte once and in order", async () => {
  const { path, reading, fd } = openPipe();
  const written = Array.from({ length: 60_000 }, (_, line) => `${line}\n`).join("");
  const read = `${path}-read`;
  // The reader begins when the pipe has long been full.
  const reader = spawn("sh", ["-c", 'sleep 0.2; exec cat "$0" > "$1"', path, read], { stdio: "ignore" });
  onTestFinished(() => void reader.kill());
  const exited = once(reader, "exit");
  writeAll(fd, Buffer.from(written));
  closeSync(fd);
  await exited;
  closeSync(reading);
  expect(readFileSync(read, "utf8") === written).toBe(true);
});

test("drops what nobody can read any more", () => {
  const { reading, fd } = openPipe();
  closeSync(reading);
  expect(() => writeSync(fd, "x")).toThrow("EPIPE");
  expect(writeAll(fd, Buffer.from("late"))).toBeUndefined();
  closeSync(fd);
});
