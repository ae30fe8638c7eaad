-- Chooses nodes for jobs that say what they train:
--
--   sbatch --nodes=4 --comment="tangram model=gpt3-13b global-batch=512" job.sh
--
-- Asks `tangram frontier` for the allocations of so many nodes, one kind each
-- (mix=yes: also several kinds), and sets the constraint, and the number of
-- nodes if --nodes is a range, to the fastest (objective=cheapest: the least
-- price a token). The comment then says what was chosen, and how long an
-- iteration takes. A job with a --constraint or without --nodes is not changed.
--
-- Nothing here can refuse a job, or hold it longer than `seconds` of tangram.conf.
--
-- slurm.conf: CliFilterPlugins=cli_filter/lua. This file, tangram_answers.lua and
-- tangram.conf belong beside slurm.conf on every node with sbatch. A site with a
-- cli_filter.lua of its own calls `tangram_pre_submit` from it.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "/etc/slurm/"
local answers = dofile(folder .. "tangram_answers.lua")

-- Options of `tangram frontier` that a comment may give.
local OPTIONS = {"model", "layers", "global-batch", "seq", "precision",
                 "optimizer", "recompute", "microbatch", "planner",
                 "parallelizer", "runtime", "effort"}
local OWN = {mix = {yes = true, no = true},
             objective = {fastest = true, cheapest = true}}
local MOST_BYTES = 4000000

local function quoted(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

-- Returns the least and most nodes of --nodes, or nil.
local function range_of(nodes)
  local low, high = tostring(nodes or ""):match("^(%d+)%-?(%d*)$")
  if not low or #low > 6 or #high > 6 then return nil end
  low, high = tonumber(low), tonumber(high ~= "" and high or low)
  return low >= 1 and low <= high and low or nil, high
end

-- Returns --nodes of `tangram frontier` and its number of allocations, or nil and
-- why.
local function lattice_of(groups, low, high, mixed)
  local parts, size = {}, 1
  for _, group in ipairs(groups) do
    local numbers = {0}
    for n = mixed and 1 or low, math.min(high, group.number) do
      numbers[#numbers + 1] = n
    end
    size = size * #numbers
    parts[#parts + 1] = group.name .. "=" .. table.concat(numbers, "|")
  end
  if size == 1 then return nil, "no group has so many nodes" end
  return table.concat(parts, ","), size - 1  -- Without that of no node.
end

-- Returns the command and the number of its answers; nil and why if the question
-- is wrong.
local function command_of(settings, words, groups, low, high)
  for name, values in pairs(OWN) do
    if words[name] and not values[words[name]] then
      return nil, name .. "=" .. words[name] .. "; expected another value"
    end
  end
  local lattice, size = lattice_of(groups, low, high, words.mix == "yes")
  if not lattice then return nil, size end
  local command = {"timeout", "-s", "KILL", settings.seconds,
                   settings.program or "tangram", "frontier",
                   "--cluster", settings.cluster or "", "--nodes", lattice,
                   "--csv", "-", "--progress", "never",
                   -- Leaves time to print what is known then.
                   "--timeout", 0.9 * settings.seconds}
  local known = {mix = true, objective = true}
  for _, name in ipairs(OPTIONS) do
    known[name] = true
    if words[name] then
      command[#command + 1] = "--" .. name
      command[#command + 1] = words[name]
    end
  end
  for name in pairs(words) do
    if not known[name] then return nil, name .. ": not an option" end
  end
  for _, name in ipairs({"coordinator", "tls_ca", "token_file", "prices"}) do
    if settings[name] and settings[name] ~= "" then
      command[#command + 1] = "--" .. name:gsub("_", "-")
      command[#command + 1] = settings[name]
    end
  end
  for i, word in ipairs(command) do command[i] = quoted(word) end
  return table.concat(command, " ") .. " </dev/null 2>/dev/null", size
end

-- Returns the rows of a CSV text, by the names of its header; nil if it breaks
-- off. Cells may be quoted.
local function rows_of(text)
  local rows, row, at = {}, {}, 1
  while at <= #text do
    local cell, after
    if text:sub(at, at) == '"' then
      local stop = at + 1
      while true do
        stop = text:find('"', stop, true)
        if not stop then return nil end
        if text:sub(stop + 1, stop + 1) ~= '"' then break end
        stop = stop + 2
      end
      cell, after = text:sub(at + 1, stop - 1):gsub('""', '"'), stop + 1
    else
      after = text:find("[,\r\n]", at) or #text + 1
      cell = text:sub(at, after - 1)
    end
    row[#row + 1] = cell
    local separator = text:match("^\r?\n", after)
    if separator then
      rows[#rows + 1] = row
      row = {}
    elseif text:sub(after, after) ~= "," then
      return nil
    end
    at = after + #(separator or ",")
  end
  if #row > 0 or #rows == 0 then return nil end  -- The last line broke off.
  local header, named = rows[1], {}
  for i = 2, #rows do
    if #rows[i] ~= #header then return nil end
    local by_name = {}
    for c, name in ipairs(header) do by_name[name] = rows[i][c] end
    named[#named + 1] = by_name
  end
  return named
end

local function positive(text)
  local number = tonumber(text)
  return number and number > 0 and number < math.huge and number or nil
end

-- Returns the nodes and seconds of the best row; nil and why if there is none.
local function best_of(rows, groups, low, high, mixed, column)
  local best
  for _, row in ipairs(rows) do
    local nodes, total, kinds = {}, 0, 0
    for _, group in ipairs(groups) do
      local number = tonumber(row["nodes_" .. group.name])
      if not number then return nil, "no column of " .. group.name end
      nodes[#nodes + 1] = {name = group.name, number = number}
      total, kinds = total + number, kinds + (number > 0 and 1 or 0)
    end
    if total >= low and total <= high and (mixed or kinds == 1) then
      if row.state == "pending" then return nil, "not all answers in time" end
      local seconds = positive(row.iteration_time_s)
      local value = positive(row[column])
      if row.state == "planned" and seconds and value and
          (not best or value < best.value or
           (value == best.value and total < best.total)) then
        best = {nodes = nodes, seconds = seconds, value = value, total = total}
      end
    end
  end
  if not best then return nil, "no plan fits" end
  return best
end

-- Returns `size` rows, or nil and why.
local function ask(command, size)
  -- os.clock is no clock of walls, so the limit is that of timeout(1).
  local pipe = io.popen(command)
  if not pipe then return nil, "no shell" end
  local text = pipe:read(MOST_BYTES)
  pipe:close()
  if not text or text == "" then return nil, "no answer" end
  local rows = rows_of(text)
  if not rows or #rows ~= size then return nil, "half an answer" end
  return rows
end

-- Returns what to set of the options, or nil and why there is no opinion.
local function advise(settings, question, nodes)
  local words, groups, low, high, why
  words, why = answers.words(question)
  if not words then return nil, why end
  groups = answers.pairs_of(settings.groups, ":")
  if not groups then return nil, "tangram.conf: groups: expected name:number" end
  low, high = range_of(nodes)
  if not low then return nil, "--nodes: expected a number or a range" end
  local column = "iteration_time_s"
  if words.objective == "cheapest" then
    if (settings.prices or "") == "" then return nil, "no prices" end
    column = "price_per_million_tokens"
  end
  local command, size = command_of(settings, words, groups, low, high)
  if not command then return nil, size end
  local rows, best
  rows, why = ask(command, size)
  if not rows then return nil, why end
  best, why = best_of(rows, groups, low, high, words.mix == "yes", column)
  if not best then return nil, why end
  local constraint, total = answers.request_of(best.nodes)
  local chosen = {}
  for i, group in ipairs(best.nodes) do
    chosen[i] = group.name .. "=" .. group.number
  end
  return {constraint = constraint, nodes = tostring(total),
          answer = string.format("chose %s %.6g s", table.concat(chosen, ","),
                                 best.seconds)}
end

function tangram_pre_submit(options)
  if options.type ~= "sbatch" and options.type ~= "salloc" then return end
  local question = answers.asked(options.comment)
  if not question or options.constraint then return end
  local settings, why = answers.settings(folder .. "tangram.conf")
  local advice
  if settings then advice, why = advise(settings, question, options.nodes) end
  if not advice then
    options.comment = "tangram " .. question .. "; no opinion: " .. why
    slurm.log_info("tangram: no opinion: %s", why)
    return
  end
  options.constraint = advice.constraint
  options.nodes = advice.nodes
  options.comment = "tangram " .. question .. "; " .. advice.answer
  slurm.log_info("tangram: %s", advice.answer)
end

function slurm_cli_setup_defaults(options, early)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
  local ok, why = pcall(tangram_pre_submit, options)
  if not ok then slurm.log_info("tangram: no opinion: %s", tostring(why)) end
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
  return slurm.SUCCESS
end
