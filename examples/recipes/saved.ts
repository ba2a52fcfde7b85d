/** Saved program: `open-tasks` is called like a tool, once for each folder. It was saved with `ptc save`. */
import { openTasks } from "./programs/index.js";

const { count, tasks } = await openTasks({ folder: "notes" });
globalThis.result = `${count} open tasks, the first of them: ${tasks[0]}`;
