import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { KnownWalls } from "../../../sandbox/known-walls.ts";
import { newFolder } from "../../temporary-folder.ts";

let path: string;
let asked = 0;
beforeEach(() => {
  path = join(newFolder(), "ptc/walls.json");
  asked = 0;
});

function setup(image = "sha256:1", identity = "engine", runtime = "runsc", profile = "profile") {
  const describe = async () => {
    asked++;
    return { version: "1", identity, profile, endpoint: "here", runtimes: new Map() };
  };
  return { engine: { describe }, runtime, image };
}

test("nothing is known before anything was found, and the engine is not asked", async () => {
  expect(await new KnownWalls(path).findBroken(setup())).toEqual([]);
  expect(asked).toBe(0);
});

test("a broken wall is known for exactly the setup where it was found, and only to its user", async () => {
  const walls = new KnownWalls(path);
  await walls.note(setup(), ["network", "user"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await new KnownWalls(path).findBroken(setup())).toEqual(["network", "user"]);
  expect(await walls.findBroken(setup("sha256:2"))).toEqual([]);
  expect(await walls.findBroken(setup("sha256:1", "another engine"))).toEqual([]);
  expect(await walls.findBroken(setup("sha256:1", "engine", "another runtime"))).toEqual([]);
  expect(await walls.findBroken(setup("sha256:1", "engine", "runsc", "another profile"))).toEqual([]);
});

test("a wall that holds again is forgotten, and the engine is not asked", async () => {
  const walls = new KnownWalls(path);
  await walls.note(setup(), ["network"]);
  await walls.note(setup(), []);
  asked = 0;
  expect(await walls.findBroken(setup())).toEqual([]);
  expect(asked).toBe(0);
});

test("many setups are remembered, and not without end", async () => {
  const walls = new KnownWalls(path);
  for (let i = 0; i < 40; i++) await walls.note(setup(`sha256:${i}`), ["network"]);
  expect(await walls.findBroken(setup("sha256:0"))).toEqual([]);
  expect(await walls.findBroken(setup("sha256:20"))).toEqual(["network"]);
});

test.each(["", "{", "[]", '{"version":2,"entries":[]}', '{"version":1,"entries":[{"broken":1}]}'])(
  "a file that says something else says nothing: %s",
  async (text) => {
    const walls = new KnownWalls(path);
    await walls.note(setup(), ["network"]);
    writeFileSync(path, text);
    expect(await walls.findBroken(setup())).toEqual([]);
    await walls.note(setup(), ["user"]);
    expect(await walls.findBroken(setup())).toEqual(["user"]);
  },
);
