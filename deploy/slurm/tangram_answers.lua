-- What cli_filter.lua and job_submit.lua share: the site's settings, and what a
-- job's comment says.
--
-- A job asks for an answer by its comment:
--
--   tangram model=gpt3-13b global-batch=512 mix=yes
--
-- The filter appends "; chose a100=2,h100=4 1.53 s" or "; no opinion: <why>".
-- Lua 5.1 and later.

local M = {}

-- Returns the settings of a file of lines `name = value`, or nil and why.
--
--   groups = h100:4,a100:8   features of nodes, which are groups of the cluster
--                            file, with their numbers of nodes
--   cluster = /etc/slurm/tangram-cluster.yaml
--   coordinator = host:7070  without it, plans are made where sbatch runs
--   tls_ca, token_file       as of `tangram plan`; every user must be able to
--                            read them
--   seconds = 1.8            longest wait for an answer
--   program = tangram
--   prices = h100=98,a100=32 of a node-hour, for objective=cheapest
--   require = p1,p2          partitions whose jobs must have asked
function M.settings(path)
  local file, why = io.open(path)
  if not file then return nil, why end
  local known = {groups = true, cluster = true, coordinator = true,
                 tls_ca = true, token_file = true, seconds = true,
                 program = true, prices = true, require = true}
  local settings = {}
  for line in file:lines() do
    local text = line:gsub("^%s*#.*", ""):gsub("%s+$", "")
    local name, value = text:match("^%s*([%a_]+)%s*=%s*(.*)$")
    if name and known[name] then
      settings[name] = value
    elseif text ~= "" then
      file:close()
      return nil, path .. ": " .. text .. "; expected a setting"
    end
  end
  file:close()
  settings.seconds = tonumber(settings.seconds or 1.8)
  if not settings.seconds or not (settings.seconds > 0 and
                                  settings.seconds <= 60) then
    return nil, path .. ": seconds: expected a number up to 60"
  end
  return settings
end

-- Returns a list of {name, number} for "h100:4,a100:8"; nil if it is none.
function M.pairs_of(text, separator)
  local list = {}
  for part in (text or ""):gmatch("[^,]+") do
    local name, number = part:match("^%s*([%w._-]+)" .. separator ..
                                    "(%d+)%s*$")
    if not name or #number > 6 then return nil end
    list[#list + 1] = {name = name, number = tonumber(number)}
  end
  return #list > 0 and list or nil
end

-- Returns the text after "tangram" of a comment, without an earlier answer, and
-- that answer if there is one. Nil: the comment does not ask.
function M.asked(comment)
  if type(comment) ~= "string" then return nil end
  local rest = comment:match("^tangram%s+(.*)$")
  if not rest then return nil end
  local question, answer = rest:match("^(.-)%s*;%s*(.*)$")
  return question or rest, answer
end

-- Returns the words `name=value` of a question as a table, or nil and why.
function M.words(question)
  local words = {}
  for word in question:gmatch("%S+") do
    local name, value = word:match("^([a-z][a-z-]*)=([%w._/+-]+)$")
    if not name or words[name] then
      return nil, word .. "; expected name=value, each once"
    end
    words[name] = value
  end
  return words
end

-- Returns what a job with these nodes must ask of Slurm: its constraint and its
-- number of nodes. Nil if there are none.
function M.request_of(nodes)
  local parts, total = {}, 0
  for _, group in ipairs(nodes) do
    if group.number > 0 then
      parts[#parts + 1] = group
      total = total + group.number
    end
  end
  if total == 0 then return nil end
  if #parts == 1 then return parts[1].name, total end
  for i, group in ipairs(parts) do
    parts[i] = group.name .. "*" .. group.number
  end
  return "[" .. table.concat(parts, "&") .. "]", total
end

-- Returns the nodes and the seconds of an answer that chose; nil for others.
function M.chosen(answer)
  local nodes, seconds = (answer or ""):match("^chose (%S+) (%S+) s$")
  if not nodes then return nil end
  seconds = tonumber(seconds)
  nodes = M.pairs_of(nodes, "=")
  -- NaN and infinity are none.
  if not nodes or not seconds or not (seconds > 0 and seconds < math.huge) then
    return nil
  end
  return nodes, seconds
end

return M
