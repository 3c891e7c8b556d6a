#include "api/responses_models.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

TEST(ResponsesModels, AreAlsoListedForCodex) {
  TestServer server;
  server.settings().aliases = {"alias"};
  server.load();
  const Json models = json_of(server.ask("GET", "/v1/models?client_version=1"))["models"];
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0]["slug"], "fake");
  EXPECT_EQ(models[1]["slug"], "alias");
  EXPECT_EQ(models[0]["context_window"], 4096);
  for (const char* needed :
       {"display_name", "description", "supported_reasoning_levels", "shell_type", "visibility",
        "supported_in_api", "priority", "availability_nux", "upgrade", "base_instructions",
        "support_verbosity", "default_verbosity", "apply_patch_tool_type", "truncation_policy",
        "experimental_supported_tools"})
    EXPECT_TRUE(models[0].contains(needed)) << needed;
}

}  // namespace
}  // namespace holdfast::api
