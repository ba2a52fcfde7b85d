/** Takes the lock of a file, says so, and never lets go of it. */
import { withLock } from "../../../../upstream/authorization/login-store.ts";

await withLock(process.argv[2] ?? "", async () => {
  process.stdout.write("locked\n");
  await new Promise(() => setInterval(() => {}, 1_000));
});
