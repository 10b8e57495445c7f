#include "hotrow/comm/collectives.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <string>

#include "hotrow/base/index.h"
#include "hotrow/base/join.h"

namespace hotrow {

std::vector<std::string> GatherText(Communicator& comm, const std::string& mine, int root) {
  const auto sizes = AllGather(comm, static_cast<std::int64_t>(mine.size()));
  std::vector<std::string> all;
  Parts<char> parts(comm);
  parts.Send(root, mine);
  if (comm.rank() == root) {
    all.resize(sizes.size());
    for (int r = 0; r < comm.size(); ++r) {
      std::string& text = all[Index(r)];
      text.resize(Index(sizes[Index(r)]));
      parts.Receive(r, text);
    }
  }
  parts.Start(comm, Op::kAllGather).Wait();
  return all;
}

void CheckAgreement(Communicator& comm, std::span<const std::byte> mine, std::string_view what) {
  struct Digest {
    std::uint64_t size = 0;
    std::uint64_t hash = 0;
    bool operator==(const Digest&) const = default;
  };
  const auto all = AllGather(comm, Digest{mine.size(), XXH3_64bits(mine.data(), mine.size())});
  // The odd ones out are those that differ from what most hold.
  Digest most = all[0];
  for (const Digest& digest : all) {
    if (std::count(all.begin(), all.end(), digest) > std::count(all.begin(), all.end(), most)) most = digest;
  }
  std::vector<std::string> different;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] != most) different.push_back(std::to_string(r));
  }
  if (different.empty()) return;
  Fail("{}: {} of {} ranks differ from the others: {}; all ranks must have the same", what, different.size(),
       all.size(), JoinNames(different));
}

}  // namespace hotrow
