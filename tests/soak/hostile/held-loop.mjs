// Imported by `ptc serve` in a soak, before its own modules: counts the most processor time that one turn of its loop took, in milliseconds, and
// writes it to a file when the process ends. SIGUSR2 begins the count anew, once ptc serves.
import { writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const file = process.env.PTC_SOAK_HELD;
// What ptc starts is given neither the variable nor this module.
delete process.env.PTC_SOAK_HELD;

if (isMainThread && file !== undefined) {
  const milliseconds = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let last = milliseconds();
  let most = 0;
  const look = () => {
    const now = milliseconds();
    most = Math.max(most, now - last);
    last = now;
  };
  setInterval(look, 1).unref();
  process.on("SIGUSR2", () => {
    last = milliseconds();
    most = 0;
  });
  process.on("exit", () => writeFileSync(file, String(Math.round(most))));
}
