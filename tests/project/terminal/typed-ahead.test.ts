import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { throwAwayTyped } from "../../../project/terminal/questions.ts";
import { newFolder } from "../../temporary-folder.ts";

test("what was typed before a question is thrown away, also where the machine was too busy to read it in time", async () => {
  const path = join(newFolder(), "terminal");
  const server = createServer({ pauseOnConnect: true }).listen(path);
  await once(server, "listening");
  const keyboard = connect(path);
  const [stdin] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => {
    keyboard.destroy();
    stdin.destroy();
    server.close();
  });
  await new Promise<void>((written) => keyboard.write("y\ny", () => written()));
  const thrownAway = throwAwayTyped(stdin as never);
  // Holds this process still for longer than keys are waited for.
  process.nextTick(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200));
  expect(await thrownAway).toBe(true);
  keyboard.write("n\n");
  const [typed] = await once(stdin.resume(), "data");
  expect(String(typed)).toBe("n\n");
});
