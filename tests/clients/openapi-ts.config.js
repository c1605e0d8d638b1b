export default {
  input: "openapi.json",
  output: { path: "generated", module: { extension: ".js" } },
};
