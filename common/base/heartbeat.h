#ifndef TANGRAM_COMMON_BASE_HEARTBEAT_H_
#define TANGRAM_COMMON_BASE_HEARTBEAT_H_

// The times by which a worker and a coordinator know that the other lives.
namespace tangram {

// The longest silence of a worker, unless the coordinator allows a longer one.
inline constexpr double kHeartbeatS = 15;
// The longest silence that a coordinator allows. Only workers without leases
// are allowed more than kHeartbeatS.
inline constexpr double kMaxSilenceS = 600;
// The end of a silence may be so late, for the network and busy machines. Then
// the other side is lost.
inline constexpr double kMaxDelayS = 10;

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_HEARTBEAT_H_
