import { expect, it } from "vitest";
import { missingFor, runInProcess } from "../runner-process.ts";

const missing = missingFor("python");

/** In each round a thread comes out of the system just as the other one begins to wait for it. */
const ROUNDS = 30;
const PROGRAM = `
import os, threading
def once(i):
    reader, writer = os.pipe()
    read = []
    thread = threading.Thread(target=lambda: read.append(os.read(reader, 9)))
    thread.start()
    os.write(writer, str(i).encode())
    thread.join()
    os.close(reader), os.close(writer)
    return int(read[0])
result = [once(i) for i in range(${ROUNDS})]
`;

it.skipIf(missing !== "")(
  `a thread that comes back from the system is not missed by one that begins to wait for it${missing}`,
  async () => {
    const environment = { seed: "5e".repeat(32), time_zone: "UTC" };
    const { claim } = await runInProcess("python", PROGRAM, environment, async () => null);
    expect(claim).toMatchObject({ ok: true, data: Array.from({ length: ROUNDS }, (_, i) => i) });
  },
);
