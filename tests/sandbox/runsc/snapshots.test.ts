import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { joinChunks, Snapshots, snapshotKey } from "../../../sandbox/runsc/snapshots.ts";
import { newFolder } from "../../temporary-folder.ts";

const FILES = ["checkpoint.img", "pages.img", "pages_meta.img"];
const keyOf = (name: string) => snapshotKey([name]);

/** What runsc writes: readable for everybody. */
async function write(folder: string): Promise<void> {
  for (const name of FILES) writeFileSync(join(folder, name), `memory of ${name}`, { mode: 0o644 });
}
const fine = async () => {};

async function withOne(name = "one") {
  const folder = join(newFolder(), "snapshots");
  const snapshots = new Snapshots(folder);
  await snapshots.make(keyOf(name), write, fine);
  return { folder, snapshots, key: keyOf(name), path: join(folder, keyOf(name)) };
}

test("a snapshot is found under its key alone, and holds the memory of a sandbox for nobody else to read", async () => {
  const { folder, snapshots, key, path } = await withOne();
  expect(await snapshots.find(key)).toBe(path);
  expect(await snapshots.find(keyOf("another"))).toBeUndefined();
  for (const each of [folder, path, ...readdirSync(path).map((name) => join(path, name))])
    expect(statSync(each).mode & 0o077, each).toBe(0);
});

test.each(FILES)("one whose %s is not what it was is removed and not restored", async (name) => {
  const { folder, key, path } = await withOne();
  writeFileSync(join(path, name), `memory of ${name.replace("i", "1")}`);
  expect(await new Snapshots(folder).find(key)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
});

test("one that changes while ptc runs is looked at again", async () => {
  const { snapshots, key, path } = await withOne();
  expect(await snapshots.find(key)).toBe(path);
  writeFileSync(join(path, "pages.img"), "the memory of a stranger");
  expect(await snapshots.find(key)).toBeUndefined();
});

test("one that changes while ptc runs is looked at again, even if its size and date are as before", async () => {
  const { snapshots, key, path } = await withOne();
  const file = join(path, "pages.img");
  utimesSync(file, 1_000, 1_000);
  expect(await snapshots.find(key)).toBe(path);
  writeFileSync(file, readFileSync(file, "utf8").replace("i", "1"));
  utimesSync(file, 1_000, 1_000);
  expect(await snapshots.find(key)).toBeUndefined();
});

test("one that others could have written is not restored", async () => {
  const { snapshots, key, path } = await withOne();
  chmodSync(join(path, "pages.img"), 0o622);
  expect(await snapshots.find(key)).toBeUndefined();
  chmodSync(join(path, "pages.img"), 0o600);
  expect(await snapshots.find(key)).toBe(path);
  chmodSync(path, 0o711);
  expect(await snapshots.find(key)).toBeUndefined();
});

test("one that does not pass its check is never there", async () => {
  const { snapshots, folder } = await withOne();
  const key = keyOf("other");
  const alike = async (made: string) => {
    expect(readdirSync(made).sort()).toEqual(FILES);
    throw new Error("two draw the same");
  };
  await expect(snapshots.make(key, write, alike)).rejects.toThrow("two draw the same");
  expect(await snapshots.find(key)).toBeUndefined();
  expect(readdirSync(folder)).toEqual([keyOf("one")]);
});

test("one that fails to be restored is removed, made again, and given up after the third time", async () => {
  const { snapshots, key } = await withOne();
  expect(snapshots.mayMake(key)).toBe(false);
  for (const count of [1, 2, 3]) {
    await snapshots.fail(key, `it did not answer for the ${count}. time`);
    expect(await snapshots.find(key)).toBeUndefined();
    expect(snapshots.failures(key)).toEqual({ count, reason: `it did not answer for the ${count}. time` });
    expect(snapshots.mayMake(key)).toBe(count < 3);
    await snapshots.make(key, write, fine);
  }
  expect(await snapshots.find(key)).toBeUndefined();
});

test("one that was given up may be made again after an hour, and failures before a success do not count", async () => {
  const { folder, snapshots, key } = await withOne();
  for (const count of [1, 2, 3]) await snapshots.fail(key, `busy ${count}`);
  expect(snapshots.mayMake(key)).toBe(false);
  const past = new Date(Date.now() - 61 * 60 * 1000);
  utimesSync(join(folder, `${key}.failed`), past, past);
  expect(snapshots.mayMake(key)).toBe(true);
  await snapshots.fail(key, "busy again");
  expect(snapshots.failures(key)).toEqual({ count: 1, reason: "busy again" });
  await snapshots.succeed(key);
  expect(snapshots.failures(key)).toEqual({ count: 0, reason: "" });
});

test("of many, those that were used last are kept, and what a killed process left is removed after a day", async () => {
  const { folder, snapshots } = await withOne("0");
  mkdirSync(join(folder, ".abandoned"));
  mkdirSync(join(folder, ".being-made"));
  const dayBefore = new Date(Date.now() - 25 * 60 * 60 * 1000);
  utimesSync(join(folder, ".abandoned"), dayBefore, dayBefore);
  for (let number = 1; number < 10; number++) {
    const date = new Date(Date.now() - 1_000_000 + number * 1_000);
    await snapshots.make(keyOf(String(number)), write, fine);
    utimesSync(join(folder, keyOf(String(number)), "snapshot.json"), date, date);
  }
  await new Snapshots(folder).find(keyOf("0"));
  await snapshots.make(keyOf("last"), write, fine);
  const kept = readdirSync(folder);
  expect(kept).toContain(".being-made");
  expect(kept).not.toContain(".abandoned");
  const names = ["0", "last", "9", "8", "7", "6", "5", "4"];
  expect(kept.filter((name) => !name.startsWith(".")).sort()).toEqual(names.map(keyOf).sort());
});

test("every part of a key makes another key", () => {
  const parts = [1, "image", { path: "/r" }, ["flag"]];
  const keys = parts.map((_, index) => snapshotKey(parts.map((part, at) => (at === index ? "other" : part))));
  expect(new Set([snapshotKey(parts), ...keys]).size).toBe(5);
});

const chunk = (text: string) => {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(text.length);
  return Buffer.concat([size, Buffer.from(text)]);
};
const metadata = (bytes: number) => {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(bytes));
  return Buffer.concat([Buffer.from("gVisorSF"), size, Buffer.alloc(bytes, "m"), Buffer.alloc(32, "d")]);
};

test("the state in a snapshot is one chunk, however many runsc wrote, and its digest is that of what is there", async () => {
  const folder = join(newFolder(), "snapshots");
  const snapshots = new Snapshots(folder);
  const chunked = Buffer.concat([metadata(5), chunk("a"), chunk("bc"), chunk("def")]);
  const state = (path: string) => join(path, "checkpoint.img");
  let checked: Buffer | undefined;
  await snapshots.make(
    keyOf("one"),
    async (path) => {
      await write(path);
      writeFileSync(state(path), chunked);
    },
    async (path) => {
      checked = readFileSync(state(path));
    },
  );
  const joined = Buffer.concat([metadata(5), chunk("abcdef")]);
  expect(checked).toEqual(joined);
  const path = (await snapshots.find(keyOf("one"))) ?? "";
  expect(readFileSync(state(path))).toEqual(joined);
});

test.each([
  ["of another form", Buffer.from("another form of state, long enough for all")],
  ["without chunks", metadata(5)],
  ["that ends in the metadata", metadata(5).subarray(0, 20)],
  [
    "that says it has more metadata than it has bytes",
    Buffer.concat([Buffer.from("gVisorSF"), Buffer.alloc(40, 0xff)]),
  ],
  ["that ends in a size", Buffer.concat([metadata(5), chunk("a"), Buffer.alloc(3)])],
  ["that ends in a chunk", Buffer.concat([metadata(5), chunk("a"), chunk("abc").subarray(0, 6)])],
  ["with an empty chunk", Buffer.concat([metadata(5), chunk("a"), chunk("")])],
])("a state file %s is left as runsc wrote it", (_, file) => {
  expect(joinChunks(file)).toBeUndefined();
});
