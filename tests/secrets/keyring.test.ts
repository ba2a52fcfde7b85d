import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { AsyncEntry } from "@napi-rs/keyring";
import { describe, expect, test, vi } from "vitest";
import { KeyringError, listKeyringAccounts, openKeyring, SecretsFile } from "../../secrets/keyring.ts";
import { lockFile } from "../../system/lock-file.ts";
import { newFolder } from "../temporary-folder.ts";
import { memoryPackage } from "./memory-keyring.ts";

describe("the system's keyring", () => {
  test("keeps a value until it is deleted, and keeps nothing while it is being looked for", async () => {
    const { load, values } = memoryPackage();
    const keyring = await openKeyring({ env: {}, load });
    expect(values.size).toBe(0);
    expect(await keyring?.get("a")).toBeUndefined();
    await keyring?.set("a", "one");
    await keyring?.set("b", "two");
    expect(await keyring?.get("a")).toBe("one");
    expect([...values.keys()]).toEqual(["ptc/a", "ptc/b"]);
    expect(await keyring?.delete("a")).toBe(true);
    expect(await keyring?.delete("a")).toBe(false);
    expect(await keyring?.get("a")).toBeUndefined();
    expect(await keyring?.get("b")).toBe("two");
  });

  test("is not there where nothing answers, where the package is missing, and where it is off", async () => {
    const dead = memoryPackage(() => new Error("no D-Bus"));
    expect(await openKeyring({ env: {}, load: dead.load })).toBeUndefined();
    const missing = () => Promise.reject(new Error("Cannot find package"));
    expect(await openKeyring({ env: {}, load: missing })).toBeUndefined();
    const load = vi.fn(missing);
    expect(await openKeyring({ env: { PTC_KEYRING: "off" }, load })).toBeUndefined();
    expect(load).not.toHaveBeenCalled();
  });

  test("gives no value that is larger than all that ptc keeps", async () => {
    const { load } = memoryPackage();
    const keyring = await openKeyring({ env: {}, load });
    for (const [chars, isRead] of [
      [1024 * 1024, true],
      [1024 * 1024 + 1, false],
    ] as const) {
      await keyring?.set("a", "x".repeat(chars));
      const read = keyring?.get("a").then((value) => value?.length === chars);
      if (isRead) expect(await read).toBe(true);
      else await expect(read).rejects.toThrow(/has too long a value$/);
    }
  });

  test("lists what ptc keeps in order, and nothing where it is off", async () => {
    const { load } = memoryPackage();
    const keyring = await openKeyring({ env: {}, load });
    for (const name of ["b", "a", "c"]) await keyring?.set(name, "x");
    expect(await listKeyringAccounts({ env: {}, load })).toEqual(["a", "b", "c"]);
    expect(await listKeyringAccounts({ env: { PTC_KEYRING: "off" }, load })).toEqual([]);
    const locked = memoryPackage(() => new Error("s3cret"));
    const listing = listKeyringAccounts({ env: {}, load: locked.load });
    await expect(listing).rejects.toThrow(/^the system's keyring cannot be read; unlock it$/);
  });

  test("reports a fault without the text of the system", async () => {
    let error: Error | undefined;
    const { load } = memoryPackage(() => error);
    const keyring = await openKeyring({ env: {}, load });
    error = new Error("cannot store s3cret");
    await expect(keyring?.set("a", "s3cret")).rejects.toThrow(KeyringError);
    await expect(keyring?.set("a", "s3cret")).rejects.toThrow(
      /^the system's keyring \([\w ]+\) cannot be written; unlock it$/,
    );
    await expect(keyring?.get("a")).rejects.toThrow(/cannot be read/);
  });

  test("is asked for through a package that this machine can load", () => {
    expect(AsyncEntry.prototype).toHaveProperty("getPassword");
  });
});

function setUp() {
  const folder = newFolder();
  const path = join(folder, "state/secrets.json");
  return { folder, path, file: new SecretsFile(path) };
}

async function problemOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(KeyringError);
  return (error as Error).message;
}

test("values are kept for their owner alone, until they are deleted", async () => {
  const { path, file, folder } = setUp();
  expect(await file.get("a")).toBeUndefined();
  expect(await file.delete("a")).toBe(false);
  await file.set("a", "one");
  await file.set("b", "two\n");
  await file.set("a", "three");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "state")).mode & 0o777).toBe(0o700);
  const other = new SecretsFile(path);
  const values = await Promise.all(["a", "b", "constructor"].map((name) => other.get(name)));
  expect(values).toEqual(["three", "two\n", undefined]);
  expect(await file.delete("a")).toBe(true);
  expect(await file.get("a")).toBeUndefined();
  expect(readdirSync(join(folder, "state"))).toEqual(["secrets.json", "secrets.json.lock"]);
});

test("values that many write at the same time are all kept", async () => {
  const { path } = setUp();
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
  await Promise.all(names.map((name) => new SecretsFile(path).set(name, name)));
  const file = new SecretsFile(path);
  expect(await Promise.all(names.map((name) => file.get(name)))).toEqual(names);
});

test("a lock that a killed process has left does not stop the next one", async () => {
  const { path, file } = setUp();
  await file.set("a", "one");
  writeFileSync(`${path}.lock`, "");
  utimesSync(`${path}.lock`, 0, 0);
  await file.set("b", "two");
  expect(await file.get("b")).toBe("two");
});

test("a lock that another process holds is waited for, however old its file looks", async () => {
  const { path, file } = setUp();
  await file.set("a", "one");
  const release = await lockFile(`${path}.lock`);
  utimesSync(`${path}.lock`, 0, 0);
  const hurried = new SecretsFile(path, { patienceMs: 1 });
  expect(await problemOf(hurried.set("b", "two"))).toBe(
    `another ptc holds its lock ${path}.lock and does not release it: end that ptc`,
  );
  expect(await file.get("b")).toBeUndefined();
  const waiting = file.set("b", "three");
  release();
  await waiting;
  expect(await file.get("b")).toBe("three");
});

test("a file that others could read is closed, and one that is not ptc's stays as it is", async () => {
  const { path, file } = setUp();
  await file.set("a", "one");
  chmodSync(path, 0o644);
  expect(await file.get("a")).toBe("one");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  writeFileSync(path, '{"a": "a-secret"}');
  expect(await problemOf(file.get("a"))).toBe(`${path} was not written by ptc; repair or remove it`);
  await problemOf(file.set("a", "two"));
  expect(readFileSync(path, "utf8")).toBe('{"a": "a-secret"}');
});

test("a folder that everybody may write is no place for it", async () => {
  const { path, folder, file } = setUp();
  mkdirSync(join(folder, "state"));
  chmodSync(join(folder, "state"), 0o777);
  expect(await problemOf(file.set("a", "one"))).toContain("may be written by everybody");
  expect(() => readFileSync(path)).toThrow();
});
