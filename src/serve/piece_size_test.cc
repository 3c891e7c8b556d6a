#include "serve/piece_size.h"

#include <gtest/gtest.h>

namespace holdfast::serve {
namespace {

TEST(PieceSize, TakesAboutTheTarget) {
  PieceSize pieces(250.0);
  EXPECT_EQ(pieces.of(512), 64) << "nothing is known yet";
  pieces.note(64, 64.0);
  EXPECT_EQ(pieces.of(512), 192);
  EXPECT_EQ(pieces.of(100), 100);
  EXPECT_EQ(pieces.of(240), 240) << "what fits is not cut";
}

TEST(PieceSize, IsNeverSmallerThanTheLeast) {
  PieceSize pieces(250.0);
  pieces.note(64, 6400.0);
  EXPECT_EQ(pieces.of(512), 64);
  EXPECT_EQ(pieces.of(5), 5);
}

TEST(PieceSize, WithoutALimitIsAll) {
  PieceSize pieces(0.0);
  pieces.note(64, 6400.0);
  EXPECT_EQ(pieces.of(512), 512);
}

TEST(PieceSize, AClockThatStandsStillTellsNothing) {
  PieceSize pieces(250.0);
  pieces.note(64, 0.0);
  EXPECT_EQ(pieces.of(512), 64);
}

}  // namespace
}  // namespace holdfast::serve
