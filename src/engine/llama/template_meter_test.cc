// The interpreter's steps are counted, and end at the limit.
#include "engine/llama/template_meter.h"

#include <chat.h>
#include <gtest/gtest.h>

#include <string>

namespace holdfast::llama {
namespace {

using namespace std::chrono_literals;

constexpr const char* kQuadratic =
    "{% for one in messages %}{% for other in messages %}{{ other.role }}{% endfor %}{% endfor %}";

struct Rendering {
  common_chat_templates_ptr templates = common_chat_templates_init(nullptr, kQuadratic);

  std::string render(int count) const {
    common_chat_templates_inputs inputs;
    for (int i = 0; i < count; ++i) {
      common_chat_msg message;
      message.role = "user";
      message.content = "x";
      inputs.messages.push_back(message);
    }
    inputs.use_jinja = true;
    inputs.force_pure_content = true;
    return common_chat_templates_apply(templates.get(), inputs).prompt;
  }
};

std::size_t steps_of(const Rendering& rendering, int count) {
  const TemplateMeter meter({1'000'000'000, 1h});
  (void)rendering.render(count);
  EXPECT_FALSE(meter.exceeded());
  return meter.steps();
}

TEST(TemplateMeter, TMETER1CountsEveryStepOfThisThread) {
  const Rendering rendering;
  const std::size_t few = steps_of(rendering, 10);
  const std::size_t many = steps_of(rendering, 40);
  EXPECT_GT(few, 100U);
  EXPECT_GT(many, 12 * few) << "the template is quadratic";
  EXPECT_EQ(steps_of(rendering, 10), few) << "the same work has the same number";
}

TEST(TemplateMeter, TMETER2NothingIsExecutedBeyondTheLimit) {
  const Rendering rendering;
  const TemplateMeter meter({500, 1h});
  EXPECT_THROW((void)rendering.render(1000), std::exception);
  EXPECT_TRUE(meter.exceeded());
  EXPECT_EQ(meter.steps(), 500U);
}

TEST(TemplateMeter, TimeIsALimitToo) {
  const Rendering rendering;
  const TemplateMeter meter({1'000'000'000, 0ns});
  EXPECT_THROW((void)rendering.render(1000), std::exception);
  EXPECT_TRUE(meter.exceeded());
}

TEST(TemplateMeter, WithoutAMeterNothingIsCounted) {
  const Rendering rendering;
  EXPECT_EQ(rendering.render(3), "useruseruseruseruseruseruseruseruser");
}

}  // namespace
}  // namespace holdfast::llama
