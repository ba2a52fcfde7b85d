import { AsyncEntry } from "@napi-rs/keyring";
import { describe, expect, test, vi } from "vitest";
import { KeyringError, openKeyring } from "../../secrets/keyring.ts";
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

  test("tells of a fault without what the system said about it", async () => {
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
